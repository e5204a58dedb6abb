package main

import (
	"errors"
	"path"
	"reflect"
	"strings"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/shape"
	"github.com/evenkeel/evenkeel/strategies/registry"
)

// section is a struct of the policy: a table in the reference and an object in the
// schema.
type section struct {
	title, prefix string
	text          string
	value         reflect.Value // the default
	entries       []entry
	// retired means that only retired fields lead to it.
	retired bool
}

// entry is a field of a section.
type entry struct {
	name     string // name in policies
	field    string // name in Go
	of       reflect.Type
	text     string
	required bool
	// retired explains why the field is retired; empty if it is not.
	retired string
	value   reflect.Value // the default
}

// walker visits the types of the policy, once for both the reference and the schema.
type walker struct {
	comments comments
	// known holds the default values of types that belong to only one kind of source.
	known    map[reflect.Type]reflect.Value
	sections []*section // in the order of the reference
	of       map[reflect.Type]*section
	errs     []error
}

// sourceType is a struct with the settings of all kinds of sources.
var sourceType = policy.SourceType(kinds.All)

// walk visits every type. A type or field without a comment is an error.
func walk(c comments) (*walker, error) {
	w := &walker{comments: c, known: map[reflect.Type]reflect.Value{}, of: map[reflect.Type]*section{}}
	for _, kind := range kinds.All {
		if block := reflect.ValueOf(kind.Default()).Elem(); block.NumField() > 0 {
			w.known[block.Type()] = block
		}
	}
	w.visit(w.begin("LoadPolicy", "", reflect.ValueOf(policy.Default(kinds.All))))
	w.known = nil
	for _, strategy := range registry.All {
		name := strategy.Describe().Name
		known, err := registry.New(name)
		if err != nil {
			return nil, err
		}
		w.visit(w.begin(name, "", reflect.ValueOf(known).Elem()))
	}
	return w, errors.Join(w.errs...)
}

// begin makes the section of a type. prefix is the path of its fields.
func (w *walker) begin(title, prefix string, value reflect.Value) *section {
	s := &section{title: title, prefix: prefix, value: value}
	w.of[value.Type()] = s
	return s
}

// visit fills a section and then the sections that its fields refer to.
func (w *walker) visit(s *section) {
	w.sections = append(w.sections, s)
	key := typeKey(s.value.Type())
	s.text = w.text(key, strings.TrimPrefix(path.Ext(key), "."), s.title)
	for _, child := range w.fields(s, s.value) {
		w.visit(child)
	}
}

// fields adds an entry for each field, including those of embedded structs, and returns
// the sections that the fields refer to.
func (w *walker) fields(s *section, value reflect.Value) []*section {
	var children []*section
	for field, v := range value.Fields() {
		name := jsonName(field)
		if field.Anonymous {
			if field.Type.PkgPath() == value.Type().PkgPath() {
				children = append(children, w.fields(s, v)...)
			}
			continue
		}
		e := entry{name: name, field: field.Name, of: field.Type, value: v}
		e.text, e.required = strings.CutSuffix(w.text(typeKey(value.Type())+"."+field.Name, field.Name, name), " Required.")
		e.retired, _ = shape.Why(field)
		s.entries = append(s.entries, e)
		inner, at := element(field.Type, s.prefix+name)
		if !fields(inner) {
			continue
		}
		if w.of[inner] == nil {
			children = append(children, w.begin(at, at+".", w.zeroOr(inner, v)))
			w.of[inner].retired = true
		}
		w.of[inner].retired = w.of[inner].retired && (s.retired || e.retired != "")
	}
	return children
}

// zeroOr returns the default value of a struct in a field, or its zero value.
func (w *walker) zeroOr(t reflect.Type, field reflect.Value) reflect.Value {
	if field.Type() == t {
		return field
	}
	if value, ok := w.known[t]; ok {
		return value
	}
	return reflect.Zero(t)
}

// text returns the comment stored under a key, beginning with the name used in policies
// instead of the Go name.
func (w *walker) text(key, goName, name string) string {
	text := w.comments[key]
	if text == "" {
		w.errs = append(w.errs, missing(key))
	}
	if rest, ok := strings.CutPrefix(text, goName); ok && startsWord(rest) {
		return name + rest
	}
	return text
}

// jsonName returns the name of a field in policies; empty for an embedded struct.
func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}
