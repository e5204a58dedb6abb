package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value is a value of values.yaml.
type value struct {
	// path is the value's name, with dots.
	path string
	// text is the value's comment. notes are the comment's annotations for the schema.
	text  string
	notes map[string]string
	// fallback is the value's default.
	fallback any
	// children holds the values below this one; empty for a leaf.
	children []value
}

// name returns the last word of the path.
func (v *value) name() string { return v.path[strings.LastIndex(v.path, ".")+1:] }

// note returns the comment's schema annotation with the given word.
func (v *value) note(word string) (string, bool) {
	text, ok := v.notes[word]
	return text, ok
}

// words holds the valid schema annotations.
var words = map[string]bool{
	"one of": true, "pattern": true, "minimum": true, "type": true, "items": true, "any items": true, "open": true, "schema": true,
}

// readValues reads values.yaml with its comments. It is an error if a leaf has no
// comment.
func readValues(path string) ([]value, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the values: %w", err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s: a mapping is wanted", path)
	}
	values, err := valuesOf("", document.Content[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return values, nil
}

// valuesOf returns the values of a mapping.
func valuesOf(prefix string, mapping *yaml.Node) (values []value, err error) {
	for i := 0; i < len(mapping.Content); i += 2 {
		key, node := mapping.Content[i], mapping.Content[i+1]
		one, err := valueOf(prefix+key.Value, key, node)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", key.Line, prefix+key.Value, err)
		}
		values = append(values, one)
	}
	return values, nil
}

func valueOf(path string, key, node *yaml.Node) (value, error) {
	one := value{path: path, notes: map[string]string{}}
	if err := one.comment(key.HeadComment); err != nil {
		return value{}, err
	}
	if err := node.Decode(&one.fallback); err != nil {
		return value{}, fmt.Errorf("reading it: %w", err)
	}
	_, open := one.note("open")
	_, items := one.note("items")
	if node.Kind == yaml.MappingNode && len(node.Content) > 0 && !open && !items {
		children, err := valuesOf(path+".", node)
		one.children = children
		return one, err
	}
	if one.text == "" {
		return value{}, errors.New("it has no comment")
	}
	return one, nil
}

// comment parses a comment.
func (v *value) comment(text string) error {
	var said []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#"))
		note, isNote := strings.CutPrefix(line, "@")
		if !isNote {
			said = append(said, line)
			continue
		}
		word, rest, _ := strings.Cut(note, ":")
		if !words[word] {
			return fmt.Errorf("@%s is not known", word)
		}
		v.notes[word] = strings.TrimSpace(rest)
	}
	v.text = strings.TrimSpace(strings.Join(said, " "))
	return nil
}

// list splits the list in a note. "" denotes the empty string.
func list(note string) []string {
	all := strings.Split(note, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
		if all[i] == `""` {
			all[i] = ""
		}
	}
	return all
}

// schema returns the JSON schema of a value.
func (v *value) schema(policies map[string]map[string]any) (map[string]any, error) {
	if len(v.children) > 0 {
		return objectOf(v.children, policies)
	}
	made := map[string]any{"description": v.text, "default": v.fallback}
	if kind, ok := v.note("schema"); ok {
		policy, known := policies[kind]
		if !known {
			return nil, fmt.Errorf("%s: @schema: %q is no document of a policy", v.path, kind)
		}
		maps.Copy(made, policy)
		made["description"] = v.text
		return made, nil
	}
	if err := v.kind(made); err != nil {
		return nil, fmt.Errorf("%s: %w", v.path, err)
	}
	if pattern, ok := v.note("pattern"); ok {
		made["pattern"] = pattern
	}
	if note, ok := v.note("minimum"); ok {
		least, err := strconv.Atoi(note)
		if err != nil {
			return nil, fmt.Errorf("%s: @minimum: %w", v.path, err)
		}
		made["minimum"] = least
	}
	return made, nil
}

// kind adds the value's type.
func (v *value) kind(made map[string]any) error {
	if note, ok := v.note("one of"); ok {
		made["enum"] = list(note)
		return nil
	}
	if note, ok := v.note("type"); ok {
		var types []any
		for _, one := range list(note) {
			if one == "" {
				types = append(types, map[string]any{"const": ""})
			} else {
				types = append(types, map[string]any{"type": one})
			}
		}
		made["anyOf"] = types
		return nil
	}
	item, given := v.note("items")
	if !given {
		item = "object"
	}
	switch v.fallback.(type) {
	case string:
		made["type"] = "string"
	case bool:
		made["type"] = "boolean"
	case int:
		made["type"] = "integer"
	case []any:
		made["type"] = "array"
		made["items"] = map[string]any{"type": item}
	case map[string]any:
		made["type"] = "object"
		if given {
			made["additionalProperties"] = map[string]any{"type": item}
		}
	default:
		return fmt.Errorf("%T has no type in a schema", v.fallback)
	}
	return nil
}

// needed reports whether the templates require the value. Helm treats null as an absent
// value, also when it reuses the values of an earlier release, so such a value would be
// missing from the output.
func (v *value) needed() bool {
	if len(v.children) > 0 {
		return true
	}
	switch is := v.fallback.(type) {
	case string:
		return is != "" && !strings.Contains(v.text, "Empty: ")
	case int:
		return is != 0
	case bool:
		return is
	}
	return false
}

// objectOf returns the schema of an object with exactly these values.
func objectOf(values []value, policies map[string]map[string]any) (map[string]any, error) {
	properties := map[string]any{}
	var required []string
	for i := range values {
		schema, err := values[i].schema(policies)
		if err != nil {
			return nil, err
		}
		properties[values[i].name()] = schema
		if values[i].needed() {
			required = append(required, values[i].name())
		}
	}
	object := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		object["required"] = required
	}
	return object, nil
}

// schemaOf returns the schema of all values.
func schemaOf(values []value, policySchema string) ([]byte, error) {
	policies, err := readPolicies(policySchema)
	if err != nil {
		return nil, err
	}
	schema, err := objectOf(values, policies)
	if err != nil {
		return nil, err
	}
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	schema["title"] = "Values of Evenkeel's chart"
	if properties, ok := schema["properties"].(map[string]any); ok {
		// Values that a parent chart passes to all its dependencies.
		properties["global"] = map[string]any{"type": "object"}
	}
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing it: %w", err)
	}
	return append(text, '\n'), nil
}

// readPolicies returns the schema of each document in a policy file, by kind. The schemas
// do not contain the kind.
func readPolicies(path string) (map[string]map[string]any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the policy's schema: %w", err)
	}
	var all struct {
		OneOf []map[string]any `json:"oneOf"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	found := map[string]map[string]any{}
	for _, one := range all.OneOf {
		properties, _ := one["properties"].(map[string]any)
		kind, _ := properties["kind"].(map[string]any)
		names, _ := kind["enum"].([]any)
		if len(names) != 1 {
			return nil, fmt.Errorf("%s: a document has no kind", path)
		}
		delete(properties, "kind")
		delete(properties, "apiVersion")
		delete(one, "required")
		found[fmt.Sprint(names[0])] = one
	}
	return found, nil
}
