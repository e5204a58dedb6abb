package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/descheduler/pkg/api/v1alpha2"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/registry"
)

// schema is a JSON schema or a part of one. It contains no references, because some
// validators do not follow them.
type schema map[string]any

const (
	windowPattern = `^(last|(avg|max_avg|p[1-9][0-9]?)_[1-9][0-9]*[smhd])$`
	metricPattern = `^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$`
	// percentPattern applies to strings only; numbers are valid as well.
	percentPattern = `^([1-9][0-9]?|100)%$`
	spanPattern    = `^[+-]?(0|(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
)

// plainSchemas maps types that decode themselves to their schemas.
var plainSchemas = map[reflect.Type]schema{
	reflect.TypeFor[metav1.Duration]():      {"type": "string", "pattern": spanPattern},
	reflect.TypeFor[resource.Quantity]():    {"type": []string{"string", "number"}},
	reflect.TypeFor[intstr.IntOrString]():   {"type": []string{"integer", "string"}, "pattern": percentPattern},
	reflect.TypeFor[usage.Window]():         {"type": "string", "pattern": windowPattern},
	reflect.TypeFor[usage.Metric]():         {"type": "string", "pattern": metricPattern},
	reflect.TypeFor[corev1.ResourceName]():  {"type": "string", "enum": []string{"cpu", "memory"}},
	reflect.TypeFor[runtime.RawExtension](): {"type": "object"}, // a plugin's arguments
}

// schemaOf makes the schema of policies from the sources in dir and of the
// source kinds.
func schemaOf(dir string) ([]byte, error) {
	c, err := readComments(folders(dir)...)
	if err != nil {
		return nil, err
	}
	w, err := walk(c)
	if err != nil {
		return nil, err
	}
	values, err := readValues(folders(dir)...)
	if err != nil {
		return nil, err
	}
	m := schemaMaker{walker: w, values: values}
	load, upstream := w.sections[0].value, reflect.TypeFor[v1alpha2.DeschedulerPolicy]()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(schema{
		"$schema":     "http://json-schema.org/draft-07/schema#",
		"title":       "Evenkeel policy",
		"description": "One document of a policy file. Made from the types in policy/ by `go run ./hack/policyref`.",
		"oneOf": []schema{
			m.document(policy.GroupVersion, policy.LoadPolicyKind, load.Type(), load),
			m.document(v1alpha2.SchemeGroupVersion.String(), upstream.Name(), upstream, reflect.Zero(upstream)),
		},
	})
	return out.Bytes(), err
}

// schemaMaker turns the walker's sections into a schema.
type schemaMaker struct {
	*walker

	values map[string][]string // constants of string types, by "package.Type"
}

// document returns the schema of one document of a policy file.
func (m *schemaMaker) document(apiVersion, kind string, t reflect.Type, value reflect.Value) schema {
	s := m.schema(t, value)
	properties, _ := s["properties"].(schema)
	properties["apiVersion"], properties["kind"] = schema{"enum": []string{apiVersion}}, schema{"enum": []string{kind}}
	s["required"] = []string{"apiVersion", "kind"}
	return s
}

// schema returns the schema of a type. value holds the defaults of its fields.
func (m *schemaMaker) schema(t reflect.Type, value reflect.Value) schema {
	if s, ok := plainSchemas[t]; ok {
		return maps.Clone(s)
	}
	if t == reflect.TypeFor[policy.Source]() {
		t = sourceType
	}
	switch t.Kind() {
	case reflect.Pointer:
		return m.schema(t.Elem(), reflect.Value{})
	case reflect.Slice:
		return schema{"type": "array", "items": m.schema(t.Elem(), reflect.Value{})}
	case reflect.Map:
		return m.mapping(t)
	case reflect.Struct:
		return m.object(t, value)
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return schema{"type": "number"}
	case reflect.String:
		return m.oneOf(schema{"type": "string"}, typeKey(t))
	default:
		return schema{"type": "integer"}
	}
}

// oneOf restricts a string to the constants of its type, if the type has any.
func (m *schemaMaker) oneOf(s schema, key string) schema {
	if values := m.values[key]; len(values) > 0 {
		s["enum"] = values
	}
	return s
}

// mapping returns the schema of a map. Its keys are restricted in the same way as its
// values.
func (m *schemaMaker) mapping(t reflect.Type) schema {
	element := orBlank(m.schema(t.Elem(), reflect.Value{}))
	key := m.schema(t.Key(), reflect.Value{})
	s := schema{"type": "object"}
	switch names, limited := key["enum"].([]string); {
	case limited:
		properties := schema{}
		for _, name := range names {
			properties[name] = element
		}
		s["properties"], s["additionalProperties"] = properties, false
	case key["pattern"] != nil:
		s["patternProperties"], s["additionalProperties"] = schema{fmt.Sprint(key["pattern"]): element}, false
	default:
		s["additionalProperties"] = element
	}
	return s
}

// object returns the schema of a struct: with the comments and defaults of its section
// or, for a type of another module, with its fields only.
func (m *schemaMaker) object(t reflect.Type, value reflect.Value) schema {
	properties, required := schema{}, []string{}
	s := schema{"type": "object", "properties": properties, "additionalProperties": false}
	own := m.of[t]
	if own == nil {
		for _, f := range reflect.VisibleFields(t) {
			if name := jsonName(f); name != "" {
				properties[name] = orBlank(m.schema(f.Type, reflect.Value{}))
			}
		}
		if t == reflect.TypeFor[v1alpha2.PluginConfig]() {
			s["anyOf"] = m.plugins()
		}
		return s
	}
	if !value.IsValid() || value.Type() != t {
		value = own.value
	}
	for _, e := range own.entries {
		field := m.schema(e.of, value.FieldByName(e.field))
		if t == sourceType && e.field == "Type" {
			field["enum"] = kinds.All.Names()
		}
		if e.required {
			required = append(required, e.name)
		} else {
			field = orBlank(field)
			withDefault(field, value.FieldByName(e.field))
		}
		field["description"] = e.text
		if e.retired != "" {
			field["deprecated"], field["description"] = true, e.name+" "+policy.RetiredText(e.retired)+"."
		}
		properties[e.name] = field
	}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// plugins returns the schemas of a plugin's configuration: one for each of our
// strategies, with its arguments, and one for all other plugins.
func (m *schemaMaker) plugins() []schema {
	var names []string
	var all []schema
	for _, strategy := range registry.All {
		name, section := strategy.Describe().Name, m.of[reflect.TypeOf(strategy).Elem()]
		names = append(names, name)
		args := m.object(section.value.Type(), section.value)
		args["description"] = section.text
		if properties, ok := args["properties"].(schema); ok { // common to all types of arguments
			properties["apiVersion"], properties["kind"] = schema{"type": "string"}, schema{"type": "string"}
		}
		all = append(all, schema{"properties": schema{"name": schema{"enum": []string{name}}, "args": orBlank(args)}})
	}
	return append(all, schema{"properties": schema{"name": schema{"not": schema{"enum": names}}}})
}

// orBlank also allows a field to be left blank, which means its default.
func orBlank(s schema) schema {
	switch types := s["type"].(type) {
	case string:
		s["type"] = []string{types, "null"}
	case []string:
		if !slices.Contains(types, "null") {
			s["type"] = append(slices.Clone(types), "null")
		}
	}
	if values, ok := s["enum"].([]string); ok {
		all := make([]any, len(values), len(values)+1)
		for i, value := range values {
			all[i] = value
		}
		s["enum"] = append(all, nil)
	}
	return s
}

// withDefault adds the default of a field, except for whole sections, whose fields have
// their own defaults.
func withDefault(s schema, value reflect.Value) {
	if s["properties"] != nil || shown(value) == "none" {
		return
	}
	raw, err := json.Marshal(value.Interface())
	if err != nil {
		return
	}
	s["default"] = json.RawMessage(hours.ReplaceAll(minutes.ReplaceAll(raw, []byte("$1")), []byte("$1")))
}
