// Package shape compares documents with the Go types into which they will be decoded. It
// decides whether every field is known and every value has the right type. The packages
// that own the types decide what the values mean.
//
// Invariants:
//   - All mistakes are reported, each with its whole path and what is allowed
//     there.
//   - A document that passes Check decodes without an error.
package shape

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/internal/likely"
	"github.com/evenkeel/evenkeel/internal/quantity"
)

var (
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	durationType        = reflect.TypeFor[metav1.Duration]()
	quantityType        = reflect.TypeFor[resource.Quantity]()
	numberOrPercentType = reflect.TypeFor[intstr.IntOrString]()
)

// Decode checks a document and decodes it into target, a pointer to a struct. A
// document with mistakes leaves target unchanged.
func Decode(object map[string]any, target any) field.ErrorList {
	if errs := Check(nil, object, reflect.TypeOf(target)); len(errs) > 0 {
		return errs
	}
	return Fill(target, object)
}

// Fill decodes a checked tree into a value, or converts a value to a tree, whose numbers
// are json.Number.
func Fill(target, from any) field.ErrorList {
	raw, err := json.Marshal(from)
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		err = decoder.Decode(target)
	}
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return nil
}

// Check compares a generic JSON tree with the Go type into which it will be decoded, and
// reports every unknown field and every value of a wrong type. Unlike a strict JSON
// decoder, it does not stop at the first mistake. It reports the whole path through lists
// and maps, and lists what is allowed there. Names are compared exactly. A field that is
// null counts as absent. An element of a list cannot be absent, so null is a mistake
// there.
func Check(path *field.Path, value any, t reflect.Type) field.ErrorList {
	if t.Kind() == reflect.Pointer {
		return Check(path, value, t.Elem())
	}
	switch {
	case value == nil:
		return nil
	case decodesItself(t):
		return checkLeaf(path, value, t)
	}
	switch t.Kind() {
	case reflect.Struct:
		return checkStruct(path, value, t)
	case reflect.Map:
		return checkMap(path, value, t)
	case reflect.Slice:
		return checkSlice(path, value, t)
	case reflect.Interface:
		return nil
	default:
		return checkLeaf(path, value, t)
	}
}

// decodesItself reports whether a type is a leaf that has its own decoding method, such
// as a duration.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(unmarshalerType) || p.Implements(textUnmarshalerType)
}

func checkStruct(path *field.Path, value any, t reflect.Type) field.ErrorList {
	object, ok := value.(map[string]any)
	if !ok {
		return mismatch(path, value, "must be a mapping of fields")
	}
	known := fieldsOf(t)
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if one, ok := known[name]; ok {
			errs = append(errs, Check(path.Child(name), object[name], one.Type)...)
			continue
		}
		allowed := documented(known)
		errs = append(errs, field.Forbidden(path.Child(name),
			fmt.Sprintf("unknown field %q%s (allowed: %s)", name, likely.Hint(name, allowed), strings.Join(allowed, ", "))))
	}
	return errs
}

// Fields returns the types of a struct's fields by JSON name. Fields of embedded structs
// are included.
func Fields(t reflect.Type) map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for name, f := range fieldsOf(t) {
		types[name] = f.Type
	}
	return types
}

// fieldsOf returns a struct's fields by JSON name.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" || !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		fields[name] = f
	}
	return fields
}

func checkMap(path *field.Path, value any, t reflect.Type) field.ErrorList {
	object, ok := value.(map[string]any)
	if !ok {
		return mismatch(path, value, "must be a mapping")
	}
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if keys := checkKey(path.Key(key), key, t.Key()); len(keys) > 0 {
			errs = append(errs, keys...)
			continue
		}
		errs = append(errs, Check(path.Key(key), object[key], t.Elem())...)
	}
	return errs
}

func checkSlice(path *field.Path, value any, t reflect.Type) field.ErrorList {
	list, ok := value.([]any)
	if !ok {
		return mismatch(path, value, "must be a list")
	}
	var errs field.ErrorList
	for i, element := range list {
		if element == nil {
			errs = append(errs, field.Required(path.Index(i), "null is not allowed in a list; give the element a value or remove it"))
			continue
		}
		errs = append(errs, Check(path.Index(i), element, t.Elem())...)
	}
	return errs
}

// checkKey checks a key of a type that decodes itself.
func checkKey(path *field.Path, key string, t reflect.Type) field.ErrorList {
	if !decodesItself(t) {
		return nil
	}
	return checkLeaf(path, key, t)
}

// WithoutNulls removes the fields of a JSON tree that are null, at any depth, and returns
// the tree. Go types differ in how they handle null: some decode it as zero, others fail.
// Elements of lists stay, because removing one would move the others.
func WithoutNulls(tree any) any {
	switch tree := tree.(type) {
	case map[string]any:
		for name, value := range tree {
			if value == nil {
				delete(tree, name)
				continue
			}
			WithoutNulls(value)
		}
	case []any:
		for _, element := range tree {
			WithoutNulls(element)
		}
	}
	return tree
}

// Overlay returns a tree of type t with another one laid over it: mappings entry by
// entry, everything else as a whole. A null in above keeps the value of below. So does an
// empty collection if below has no value.
func Overlay(below, above any, t reflect.Type) any {
	switch {
	case above == nil:
		return below
	case t.Kind() == reflect.Pointer:
		return Overlay(below, above, t.Elem())
	case decodesItself(t):
		return above
	}
	switch above := above.(type) {
	case []any:
		if len(above) == 0 && below == nil {
			return nil
		}
		list := make([]any, len(above))
		for i, element := range above {
			list[i] = Overlay(nil, element, t.Elem())
		}
		return list
	case map[string]any:
		if len(above) == 0 && below == nil && t.Kind() == reflect.Map {
			return nil
		}
		return overlayMapping(below, above, t)
	}
	return above
}

func overlayMapping(below any, above map[string]any, t reflect.Type) map[string]any {
	whole := map[string]any{}
	if below, ok := below.(map[string]any); ok {
		maps.Copy(whole, below)
	}
	if t.Kind() == reflect.Map {
		for name, value := range above {
			whole[name] = Overlay(whole[name], value, t.Elem())
		}
		return whole
	}
	types := Fields(t)
	for name, value := range above {
		if value = Overlay(whole[name], value, types[name]); value != nil {
			whole[name] = value
		}
	}
	return whole
}

// checkLeaf checks a value whose type has no fields or decodes itself.
func checkLeaf(path *field.Path, value any, t reflect.Type) field.ErrorList {
	raw, err := json.Marshal(value)
	if err == nil && t == quantityType {
		err = quantity.Check(bytes.Trim(raw, `"`))
	}
	if err == nil {
		err = json.Unmarshal(raw, reflect.New(t).Interface())
	}
	switch {
	case err == nil:
		return nil
	case decodesItself(t):
		return mismatch(path, value, wantedText(value, t, err))
	default:
		return mismatch(path, value, wantedKind(t))
	}
}

// wantedText describes the values that a type that decodes itself accepts. It leaves out
// the given value, because the message already shows it.
func wantedText(value any, t reflect.Type, err error) string {
	text, isText := value.(string)
	switch {
	case t == durationType:
		return `must be a duration with a unit (h, m, s or ms), such as "90s" or "5m"`
	case t == numberOrPercentType:
		return `must be a whole number of 32 bits or a percentage, such as 300 or "5%"`
	case t == quantityType:
		return `must be a quantity, such as "250m" or "200Mi"`
	case !isText:
		return "must be text"
	}
	return strings.TrimPrefix(err.Error(), strconv.Quote(text)+" ")
}

func wantedKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "must be text"
	case reflect.Bool:
		return "must be true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "must be a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "must be a whole number of 0 or more"
	case reflect.Float32, reflect.Float64:
		return "must be a number"
	default:
		return fmt.Sprintf("fields of type %s cannot be set", t)
	}
}

// mismatch reports a value of the wrong type. Instead of printing a collection, it states
// the kind of the collection.
func mismatch(path *field.Path, value any, want string) field.ErrorList {
	switch value.(type) {
	case map[string]any:
		value = "a mapping"
	case []any:
		value = "a list"
	}
	return field.ErrorList{field.TypeInvalid(path, value, want)}
}

// Mappings returns the mappings in a list, with nil for other elements.
func Mappings(list any) []map[string]any {
	items, _ := list.([]any)
	found := make([]map[string]any, len(items))
	for i, item := range items {
		found[i], _ = item.(map[string]any)
	}
	return found
}
