package compat

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// find follows a path and returns where it ends: the node that carries comments, and the
// value. left is the rest of the path after an alias or a missing field. Field names may
// contain dots and therefore span several steps.
func find(node *yaml.Node, path []string) (key, value *yaml.Node, left []string) {
	value, left = node, path
	for n := 1; n <= len(left); n++ {
		if nextKey, next := child(value, strings.Join(left[:n], ".")); next != nil {
			key, value, left = nextKey, next, left[n:]
			n = 0
		}
	}
	return key, value, left
}

// child follows one step. It switches the nodes on the way to block style, which has
// space for comments and long texts.
func child(node *yaml.Node, name string) (key, value *yaml.Node) {
	node.Style &^= yaml.FlowStyle
	switch node.Kind {
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(node.Content) {
			return node.Content[i], node.Content[i]
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == name {
				return node.Content[i], node.Content[i+1]
			}
		}
	default: // a leaf or an alias
	}
	return nil, nil
}
