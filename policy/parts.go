package policy

// Part is one document of a file, before anybody asks what it means.
type Part struct {
	// SkippedLines counts the lines of the file before its text.
	SkippedLines int
	// Text is the document without its markers.
	Text []byte
	// Object is the document as a JSON tree whose numbers are json.Number; nil
	// if it is nothing but blank lines and comments.
	Object map[string]any
}

// ReadParts cuts a YAML file into its documents and reads them as Load does,
// but takes any kind. The error, if any, is an *Error that holds every mistake
// found.
func ReadParts(fileName string, data []byte) ([]Part, error) {
	docs, problems := split(data)
	parts := make([]Part, len(docs))
	for i, doc := range docs {
		object, wrong := doc.mapping()
		parts[i] = Part{SkippedLines: doc.startLine, Text: doc.text, Object: object}
		problems = append(problems, wrong...)
	}
	if len(problems) > 0 {
		return nil, NewError(fileName, problems)
	}
	return parts, nil
}
