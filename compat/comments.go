package compat

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/evenkeel/evenkeel/policy"
)

// comment turns lines into a comment; none may contain a line break.
func comment(lines ...string) string {
	for i, line := range lines {
		lines[i] = strings.TrimSpace("# " + line)
	}
	return strings.Join(lines, "\n")
}

// steps matches the steps of a path, such as name, [3] and [a.key].
var steps = regexp.MustCompile(`[^.\[\]]+|\[[^\]]*\]`)

// attach adds a comment to the field at path, or to its nearest existing ancestor. For an
// ancestor, the comment begins with the rest of the path. attach reports whether it found
// a place.
func attach(root *yaml.Node, path, text string) bool {
	places := steps.FindAllStringIndex(path, -1)
	names := make([]string, len(places))
	for i, at := range places {
		names[i] = strings.Trim(path[at[0]:at[1]], "[]")
	}
	key, _, left := find(root, names)
	if key == nil {
		return false
	}
	if len(left) > 0 {
		text = policy.OneLine(path[places[len(names)-len(left)][0]:]) + ": " + text
	}
	key.HeadComment = strings.TrimPrefix(key.HeadComment+"\n"+comment(text), "\n")
	return true
}

// lift moves the comment on the first field of a list item in front of the
// item's dash.
func lift(node *yaml.Node) {
	for _, child := range node.Content {
		lift(child)
		if node.Kind != yaml.SequenceNode || child.Kind != yaml.MappingNode || len(child.Content) == 0 {
			continue
		}
		first := child.Content[0]
		child.HeadComment = strings.Trim(child.HeadComment+"\n"+first.HeadComment, "\n")
		first.HeadComment = ""
	}
}
