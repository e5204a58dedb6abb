package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/policy/shape"
)

// Part is one document of a file, before it is interpreted.
type Part struct {
	// SkippedLines is the number of lines in the file before Text.
	SkippedLines int
	// Text is the document without its markers.
	Text []byte
	// Object is the document as a JSON tree whose numbers are json.Number, without null fields; nil if the document has
	// only blank lines and comments.
	Object map[string]any
}

// ReadParts splits a YAML file into its documents and reads them as Load does, but accepts any kind. If there is an
// error, it is an *Error with every mistake found.
func ReadParts(fileName string, data []byte) ([]Part, error) {
	parts, problems := split(data)
	for i := range parts {
		problems = append(problems, parts[i].read()...)
	}
	if len(problems) > 0 {
		return nil, NewError(fileName, problems)
	}
	return parts, nil
}

// split splits a file into its documents. If it cannot, it returns the problems.
func split(data []byte) ([]Part, []string) {
	switch {
	case len(data) > MaxFileBytes:
		return nil, []string{fmt.Sprintf("the file has %d bytes; at most %d are allowed", len(data), MaxFileBytes)}
	case !utf8.Valid(data):
		return nil, []string{after(textOf(normalizeNewlines(data)), 0) + "the file is not UTF-8 text"}
	}
	docs := splitDocuments(data)
	if len(docs) > maxDocuments {
		return nil, []string{fmt.Sprintf("the file has %d documents; at most %d are allowed", len(docs), maxDocuments)}
	}
	return docs, nil
}

// textOf returns the longest prefix of data that is valid UTF-8.
func textOf(data []byte) []byte {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return data[:i]
		}
		i += size
	}
	return data
}

// after returns the position immediately after a text that is preceded by skippedLines
// lines.
func after(text []byte, skippedLines int) string {
	last := text[bytes.LastIndexByte(text, '\n')+1:]
	return fmt.Sprintf("line %d, column %d: ", skippedLines+bytes.Count(text, []byte("\n"))+1, utf8.RuneCount(last)+1)
}

// splitDocuments splits a YAML stream at its document markers: lines that start with "---" or "..." in the first
// column, which YAML reserves for markers even inside block scalars. Content after a marker belongs to the next
// document.
func splitDocuments(data []byte) []Part {
	docs := []Part{{}}
	line := 0
	for text := range bytes.Lines(normalizeNewlines(data)) {
		line++
		if isMarker(text) {
			text = text[len("---"):]
			if len(bytes.TrimSpace(text)) == 0 {
				docs = append(docs, Part{SkippedLines: line})
				continue
			}
			docs = append(docs, Part{SkippedLines: line - 1})
		}
		last := &docs[len(docs)-1]
		last.Text = append(last.Text, text...)
	}
	return docs
}

// normalizeNewlines drops byte order marks and makes every line end in "\n", so that markers are found in files from
// any system. A file concatenated from others may have byte order marks at the start of any line.
func normalizeNewlines(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	return bytes.ReplaceAll(data, []byte("\n\ufeff"), []byte("\n"))
}

func isMarker(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return false
	}
	rest := line[len("---"):]
	return len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\n'
}

// read parses the document and returns the problems that it finds.
func (p *Part) read() (problems []string) {
	tree, problems := p.parse()
	if len(problems) > 0 || tree == nil {
		return problems
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("line %d: the document must be a mapping with apiVersion and kind", p.SkippedLines+1)}
	}
	p.Object = object
	return nil
}

// parse returns the document as a generic tree in which numbers are json.Number and no field is null. If the YAML is
// broken, it returns one line per problem.
func (p *Part) parse() (tree any, problems []string) {
	// Blank lines replace the documents before this one, so that the parser's line
	// numbers are those of the file.
	padded := append(bytes.Repeat([]byte("\n"), p.SkippedLines), p.Text...)
	asJSON, err := yaml.YAMLToJSONStrict(padded)
	if err != nil {
		return nil, p.syntaxProblems(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return nil, []string{fmt.Sprintf("reading YAML: %v", err)}
	}
	return shape.WithoutNulls(tree), nil
}

// syntaxProblems converts the YAML parser's errors to single lines.
func (p *Part) syntaxProblems(err error) []string {
	if _, notFinite := errors.AsType[*json.UnsupportedValueError](err); notFinite {
		return p.notANumberProblems()
	}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if at := bytes.IndexFunc(p.Text, isControl); at >= 0 && strings.Contains(text, "control characters") {
		return []string{after(p.Text[:at], p.SkippedLines) + "not YAML: " + text}
	}
	list, isList := strings.CutPrefix(text, "unmarshal errors:\n")
	if !isList {
		return []string{"not YAML: " + strings.ReplaceAll(text, "\n", " ") + p.tabHint(text)}
	}
	var problems []string
	for problem := range strings.Lines(list) {
		problems = append(problems, strings.TrimSpace(problem))
	}
	return problems
}

// tabHint explains that the parser failed at a tab, because the parser's own message
// mentions only a character.
func (p *Part) tabHint(problem string) string {
	var number int
	if _, err := fmt.Sscanf(problem, "line %d: found character that cannot start any token", &number); err != nil {
		return ""
	}
	lines := bytes.Split(p.Text, []byte("\n"))
	if i := number - 1 - p.SkippedLines; i >= 0 && i < len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[i], " "), []byte("\t")) {
		return ": a tab; YAML is indented by spaces"
	}
	return ""
}

// isControl reports whether YAML forbids a character everywhere in a file.
func isControl(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r) }

// notANumberProblems finds the lines with YAML's spellings of infinity and NaN. JSON
// cannot represent these values, and the parser's error contains no line number.
func (p *Part) notANumberProblems() []string {
	var problems []string
	number := p.SkippedLines
	for text := range bytes.Lines(p.Text) {
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

// MaxFileBytes limits a policy file to what fits into a ConfigMap.
const MaxFileBytes = 1 << 20

// maxDocuments limits the number of documents in a file, including blank ones.
const maxDocuments = 100
