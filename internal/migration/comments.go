package migration

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// comment makes lines a comment. Each of them is one line already.
func comment(lines ...string) string {
	for i, line := range lines {
		lines[i] = strings.TrimSpace("# " + line)
	}
	return strings.Join(lines, "\n")
}

// attach puts a comment at the field that path leads to, or as near to it as
// the document goes; what is left of the path then stands in the comment. It
// reports whether there was any such place.
func attach(root *yaml.Node, path, text string) bool {
	var at *yaml.Node
	rest := path
	for node := root; rest != ""; {
		key, value, left := step(node, rest)
		if key == nil {
			break
		}
		at, node, rest = key, value, left
	}
	if at == nil {
		return false
	}
	if rest = strings.TrimPrefix(rest, "."); rest != "" {
		text = oneLine(rest) + ": " + text
	}
	if line := comment(text); at.HeadComment == "" {
		at.HeadComment = line
	} else {
		at.HeadComment += "\n" + line
	}
	return true
}

// step follows one step of a path, such as name, [3] or [a.key]. key carries
// the comment of what it leads to.
func step(node *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	switch node.Kind {
	case yaml.SequenceNode:
		return stepInto(node, path)
	case yaml.MappingNode:
		path = strings.TrimPrefix(path, ".")
		longest := -1
		for i := 0; i+1 < len(node.Content); i += 2 {
			name := node.Content[i].Value
			for _, written := range []string{name, "[" + name + "]"} {
				left, found := strings.CutPrefix(path, written)
				if found && len(written) > longest && (left == "" || left[0] == '.' || left[0] == '[') {
					longest, key, value, rest = len(written), node.Content[i], node.Content[i+1], left
				}
			}
		}
	default: // a leaf
	}
	return key, value, rest
}

func stepInto(node *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	index, rest, found := strings.Cut(strings.TrimPrefix(path, "["), "]")
	if !found || !strings.HasPrefix(path, "[") {
		return nil, nil, ""
	}
	at := 0
	for _, digit := range index {
		if digit < '0' || digit > '9' || at > len(node.Content) {
			return nil, nil, ""
		}
		at = 10*at + int(digit-'0')
	}
	if index == "" || at >= len(node.Content) {
		return nil, nil, ""
	}
	return node.Content[at], node.Content[at], rest
}

// lift moves the comment of the first field of a list's item in front of its
// dash.
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
