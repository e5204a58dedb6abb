package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// document is one YAML document of a file.
type document struct {
	// startLine counts the lines of the file before the document.
	startLine int
	// text is the document without its markers.
	text []byte
}

// split cuts a file into its documents, or says why it is none.
func split(data []byte) ([]document, []string) {
	switch {
	case len(data) > MaxFileBytes:
		return nil, []string{fmt.Sprintf("the file has %d bytes; at most %d are allowed", len(data), MaxFileBytes)}
	case !utf8.Valid(data):
		return nil, []string{"the file is not UTF-8 text"}
	}
	docs := splitDocuments(data)
	if len(docs) > maxDocuments {
		return nil, []string{fmt.Sprintf("the file has %d documents; at most %d are allowed", len(docs), maxDocuments)}
	}
	return docs, nil
}

// splitDocuments cuts a YAML stream at its document markers: lines that start
// with "---" or "..." at the first column, which YAML reserves for that even
// inside block scalars. Content behind a marker belongs to the next document.
func splitDocuments(data []byte) []document {
	docs := []document{{}}
	line := 0
	for text := range bytes.Lines(normalizeNewlines(data)) {
		line++
		if isMarker(text) {
			text = text[len("---"):]
			if len(bytes.TrimSpace(text)) == 0 {
				docs = append(docs, document{startLine: line})
				continue
			}
			docs = append(docs, document{startLine: line - 1})
		}
		last := &docs[len(docs)-1]
		last.text = append(last.text, text...)
	}
	return docs
}

// normalizeNewlines drops a byte order mark and makes every line end in "\n",
// so that markers are found in files written on any system.
func normalizeNewlines(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
}

func isMarker(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return false
	}
	rest := line[len("---"):]
	return len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\n'
}

// mapping returns the document as a mapping, nil if it is nothing but blank
// lines and comments, or what is wrong with it.
func (d document) mapping() (map[string]any, []string) {
	tree, problems := d.parse()
	if len(problems) > 0 || tree == nil {
		return nil, problems
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return nil, []string{fmt.Sprintf("line %d: the document must be a mapping with apiVersion and kind", d.startLine+1)}
	}
	return object, nil
}

// parse returns the document as a generic tree, whose numbers are json.Number,
// or what is wrong with its YAML, one problem per line.
func (d document) parse() (tree any, problems []string) {
	// Blank lines instead of the documents before make the parser's line
	// numbers those of the file.
	padded := append(bytes.Repeat([]byte("\n"), d.startLine), d.text...)
	asJSON, err := yaml.YAMLToJSONStrict(padded)
	if err != nil {
		return nil, d.syntaxProblems(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, []string{fmt.Sprintf("reading YAML: %v", err)}
	}
	return tree, nil
}

// syntaxProblems turns the YAML parser's errors into single lines.
func (d document) syntaxProblems(err error) []string {
	if _, notFinite := errors.AsType[*json.UnsupportedValueError](err); notFinite {
		return d.notANumberProblems()
	}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	list, isList := strings.CutPrefix(text, "unmarshal errors:\n")
	if !isList {
		return []string{"not YAML: " + strings.ReplaceAll(text, "\n", " ")}
	}
	var problems []string
	for problem := range strings.Lines(list) {
		problems = append(problems, strings.TrimSpace(problem))
	}
	return problems
}

// notANumberProblems finds the lines with YAML's spellings of infinity and NaN,
// for which JSON has no value and the parser no line number.
func (d document) notANumberProblems() []string {
	var problems []string
	number := d.startLine
	for text := range bytes.Lines(d.text) {
		number++
		lower := bytes.ToLower(text)
		if bytes.Contains(lower, []byte(".nan")) || bytes.Contains(lower, []byte(".inf")) {
			problems = append(problems, fmt.Sprintf("line %d: %q: a number must be finite", number, bytes.TrimSpace(text)))
		}
	}
	if len(problems) == 0 {
		problems = append(problems, "a number must be finite")
	}
	return problems
}

// MaxFileBytes bounds a policy file: what fits into a ConfigMap.
const MaxFileBytes = 1 << 20

// maxDocuments bounds the documents of a file, blank ones included.
const maxDocuments = 100
