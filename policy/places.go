package policy

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Places holds the positions of a document's fields in its file. The zero value has none.
type Places struct{ root *yaml.Node }

// PlacesOf reads a document that is preceded by skippedLines lines of its file. A
// negative number means that the file does not contain the document in this form.
func PlacesOf(text []byte, skippedLines int) Places {
	if skippedLines < 0 {
		return Places{}
	}
	var document yaml.Node
	padded := append(bytes.Repeat([]byte("\n"), skippedLines), text...)
	if yaml.Unmarshal(padded, &document) != nil || len(document.Content) == 0 {
		return Places{}
	}
	return Places{document.Content[0]}
}

// Of returns the position of a mistake as "line 3, column 5: "; empty if that is unknown.
// For most mistakes this is the position of the value. For a field that is forbidden or
// contains other fields, it is the position of its name. For a missing field, it is the
// position of the nearest enclosing field.
func (p Places) Of(err *field.Error) string {
	if p.root == nil {
		return ""
	}
	name, value := p.root, p.root
	path := err.Field
	for path != "" {
		inner, element, rest := step(value, path)
		if element == nil {
			value = nil
			break
		}
		name, value, path = inner, element, rest
	}
	at := name
	if value != nil && value.Kind == yaml.ScalarNode && value.Value != "" && err.Type != field.ErrorTypeForbidden {
		at = value
	}
	return fmt.Sprintf("line %d, column %d: ", at.Line, at.Column)
}

// step follows the first part of a path into a node. It returns the name and the value
// that it finds (nil if there are none), and the rest of the path. The name of a list
// element is the element itself.
func step(node *yaml.Node, path string) (name, value *yaml.Node, rest string) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind == yaml.SequenceNode {
		for i, element := range node.Content {
			if after, ok := cutName(path, strconv.Itoa(i)); ok {
				return element, element, after
			}
		}
	}
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		// Keys may contain dots, so the longest matching key wins.
		if after, ok := cutName(path, key.Value); ok && (name == nil || len(after) < len(rest)) {
			name, value, rest = key, node.Content[i+1], after
		}
	}
	return name, value, rest
}

// cutName cuts a name from the beginning of a path, as a field or in brackets.
func cutName(path, name string) (rest string, ok bool) {
	for _, part := range []string{"[" + name + "]", "." + name, name} {
		rest, ok = strings.CutPrefix(path, part)
		if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return rest, true
		}
	}
	return "", false
}
