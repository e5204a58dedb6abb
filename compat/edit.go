package compat

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evenkeel/evenkeel/policy"
)

// edit is one change to a document: a new value, a comment or both.
type edit struct {
	path    []string
	value   *string
	comment string
}

// apply edits a document and keeps the rest of it: comments, order and value style.
func apply(part policy.Part, edits []edit) ([]byte, error) {
	if !slices.ContainsFunc(edits, func(e edit) bool { return e.isNew(part.Text) }) {
		return part.Text, nil
	}
	var document yaml.Node
	if err := yaml.Unmarshal(part.Text, &document); err != nil || len(document.Content) != 1 {
		return nil, errNotSame
	}
	want := runtime.DeepCopyJSON(part.Object)
	for i := range edits {
		if err := edits[i].apply(document.Content[0], want); err != nil {
			return nil, err
		}
	}
	text, err := encode(&document)
	if err != nil {
		return nil, err
	}
	return text, sameTree(want, text)
}

// isNew reports whether there is anything to do. If the comment already exists, there is
// not.
func (e *edit) isNew(text []byte) bool {
	return e.value != nil || !bytes.Contains(text, []byte(comment(policy.OneLine(e.comment))))
}

// apply makes one change in a document and, if it sets a value, in its tree.
func (e *edit) apply(root *yaml.Node, tree any) error {
	key, value, left := find(root, e.path)
	if e.comment != "" {
		if key == nil || len(left) > 0 {
			key = root
		}
		if line := comment(policy.OneLine(e.comment)); !strings.Contains(key.HeadComment, line) {
			key.HeadComment = strings.TrimPrefix(key.HeadComment+"\n"+line, "\n")
		}
	}
	switch {
	case e.value == nil:
		return nil
	case len(left) > 0:
		return fmt.Errorf("%s: %w", strings.Join(e.path, "."), errNotSame)
	}
	*value = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: *e.value, Style: yaml.LiteralStyle, LineComment: value.LineComment}
	replace(tree, e.path, *e.value)
	return nil
}

// replace sets the value at a path.
func replace(tree any, path []string, value string) {
	for _, name := range path[:len(path)-1] {
		switch v := tree.(type) {
		case map[string]any:
			tree = v[name]
		case []any:
			if i, err := strconv.Atoi(name); err == nil && i < len(v) {
				tree = v[i]
			}
		}
	}
	if mapping, ok := tree.(map[string]any); ok {
		mapping[path[len(path)-1]] = value
	}
}
