package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/evenkeel/evenkeel/policy"
)

// write returns a converted document as YAML: a header that names the old format and what
// could not be kept, and each note next to its field.
func write(doc policy.Conversion) ([]byte, error) {
	root := nodeOf(doc.Object)
	head := []string{"Converted from " + doc.Format + " by evenkeel convert."}
	lost := []string{"Changed behavior:"}
	for _, note := range doc.Notes {
		text, placed := policy.OneLine(note.Text), false
		if note.Field != "" {
			placed = attach(root, note.Field, text)
			text = policy.OneLine(note.Field) + ": " + text
		}
		switch {
		case note.Lossy:
			lost = append(lost, "- "+text)
		case !placed:
			head = append(head, text)
		}
	}
	if len(lost) > 1 {
		head = append(head, lost...)
	}
	lift(root)
	root.HeadComment = comment(head...)
	text, err := encode(root)
	if err != nil {
		return nil, err
	}
	return text, sameTree(doc.Object, text)
}

// nodeOf converts a JSON tree to YAML, with keys in a readable order.
func nodeOf(value any) *yaml.Node {
	switch v := value.(type) {
	case map[string]any:
		node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, key := range slices.SortedFunc(maps.Keys(v), byRank) {
			node.Content = append(node.Content, stringNode(key), nodeOf(v[key]))
		}
		return node
	case []any:
		node := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range v {
			node.Content = append(node.Content, nodeOf(item))
		}
		return node
	case string:
		return stringNode(v)
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: v.String()}
	default: // bools, and numbers that a converter created
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(v)}
	}
}

// plain matches the strings that every YAML version reads as strings, unless they are
// reserved words.
var (
	plain    = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./-]*$`)
	reserved = []string{"y", "yes", "n", "no", "on", "off", "true", "false", "null"}
)

func stringNode(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if !plain.MatchString(text) || slices.Contains(reserved, strings.ToLower(text)) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// firstKeys holds the fields that a reader looks for first. The others follow in
// alphabetical order.
var firstKeys = []string{
	"apiVersion", "kind", "metadata", "name", "type", "metric", "window", "usage", "sources", "lines", "low", "reject", "evict", "leave",
	"hot", "scoring", "formula",
}

func byRank(a, b string) int {
	if left, right := rank(a), rank(b); left != right {
		return left - right
	}
	return strings.Compare(a, b)
}

func rank(key string) int {
	if at := slices.Index(firstKeys, key); at >= 0 {
		return at
	}
	return len(firstKeys)
}

func encode(node *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(node); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	return out.Bytes(), nil
}

// errNotSame reports that a document cannot be rewritten without changing its meaning.
var errNotSame = errors.New("its YAML cannot be rewritten without changing its meaning; write it without anchors and tags")

// sameTree checks that text has the same meaning as want.
func sameTree(want any, text []byte) error {
	parts, err := policy.ReadParts("", text)
	if err != nil || len(parts) != 1 || !same(want, any(parts[0].Object)) {
		return errNotSame
	}
	return nil
}

// same compares JSON trees, numbers by value.
func same(a, b any) bool {
	left, err := json.Marshal(a)
	right, other := json.Marshal(b)
	var x, y any
	return err == nil && other == nil && (bytes.Equal(left, right) ||
		json.Unmarshal(left, &x) == nil && json.Unmarshal(right, &y) == nil && reflect.DeepEqual(x, y))
}
