package migration

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/evenkeel/evenkeel/policy"
)

// edit is one change of a document: a new value, a comment or both.
type edit struct {
	path    []string
	value   *string
	comment string
}

// apply makes changes in a document and leaves the rest of it as it is:
// comments, order and style of its values.
func apply(part policy.Part, edits []edit) ([]byte, error) {
	if !slices.ContainsFunc(edits, func(e edit) bool { return e.isNew(part.Text) }) {
		return part.Text, nil
	}
	var document yaml.Node
	if err := yaml.Unmarshal(part.Text, &document); err != nil || len(document.Content) != 1 {
		return nil, errNotSame
	}
	want := part.Object
	for i := range edits {
		var err error
		if want, err = edits[i].apply(document.Content[0], want); err != nil {
			return nil, err
		}
	}
	text, err := encode(&document)
	if err != nil {
		return nil, err
	}
	return text, sameTree(want, text)
}

// isNew reports whether there is anything to do: not so for a comment that is
// there already.
func (e *edit) isNew(text []byte) bool {
	return e.value != nil || !bytes.Contains(text, []byte(comment(oneLine(e.comment))))
}

// apply makes one change. It returns the tree that the document has to have
// then.
func (e *edit) apply(root *yaml.Node, tree map[string]any) (map[string]any, error) {
	key, value := find(root, e.path)
	if e.comment != "" {
		if key == nil {
			key = root
		}
		if line := comment(oneLine(e.comment)); !strings.Contains(key.HeadComment, line) {
			key.HeadComment = strings.TrimPrefix(key.HeadComment+"\n"+line, "\n")
		}
	}
	if e.value == nil {
		return tree, nil
	}
	if value == nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(e.path, "."), errNotSame)
	}
	*value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: *e.value, Style: yaml.LiteralStyle, LineComment: value.LineComment}
	changed, _ := replaced(tree, e.path, *e.value).(map[string]any)
	return changed, nil
}

// find returns the nodes that a path leads to: the one that carries comments
// and the value. They are nil where the path leads over an alias or nowhere.
// What it passes is written in blocks, which have room for comments and long
// texts.
func find(node *yaml.Node, path []string) (key, value *yaml.Node) {
	value = node
	for _, name := range path {
		value.Style &^= yaml.FlowStyle
		switch value.Kind {
		case yaml.SequenceNode:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(value.Content) {
				return nil, nil
			}
			key, value = value.Content[i], value.Content[i]
		case yaml.MappingNode:
			key, value = entry(value, name)
		default:
			return nil, nil
		}
		if value == nil {
			return nil, nil
		}
	}
	return key, value
}

func entry(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// replaced returns a tree with the value at a path replaced; what does not
// change is shared.
func replaced(tree any, path []string, value string) any {
	if len(path) == 0 {
		return value
	}
	switch v := tree.(type) {
	case map[string]any:
		copied := maps.Clone(v)
		copied[path[0]] = replaced(v[path[0]], path[1:], value)
		return copied
	case []any:
		copied := slices.Clone(v)
		if i, err := strconv.Atoi(path[0]); err == nil && i < len(copied) {
			copied[i] = replaced(copied[i], path[1:], value)
		}
		return copied
	}
	return tree
}
