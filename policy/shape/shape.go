// Package shape compares documents with the Go types they are about to be
// decoded into. It decides whether every field is known and every value has the
// right type; what the values mean is left to the packages whose types they
// are.
//
// Invariants:
//   - All mistakes are reported, each with its whole path and what is allowed there.
//   - What has passed Check is decoded without an error.
package shape

import (
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
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	durationType        = reflect.TypeFor[metav1.Duration]()
	quantityType        = reflect.TypeFor[resource.Quantity]()
)

// Decode checks a document and decodes it into target, a pointer to a struct. A
// document with mistakes leaves target as it was.
func Decode(object map[string]any, target any) field.ErrorList {
	if errs := Check(nil, object, reflect.TypeOf(target)); len(errs) > 0 {
		return errs
	}
	raw, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(raw, target)
	}
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	return nil
}

// Check compares a generic JSON tree with the Go type it is about to be
// decoded into and reports every unknown field and every value of a wrong type.
// Unlike a strict JSON decoder it does not stop at the first mistake, names the
// whole path through lists and maps, and tells what is allowed there. Names are
// compared exactly. A null is an absent value; an element of a list or mapping
// that decodes itself cannot be absent.
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
		return checkScalar(path, value, t)
	}
}

// decodesItself tells a leaf, such as a duration, from what has fields.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(unmarshalerType) || p.Implements(textUnmarshalerType)
}

func checkStruct(path *field.Path, value any, t reflect.Type) field.ErrorList {
	object, ok := value.(map[string]any)
	if !ok {
		return mismatch(path, value, "must be a mapping of fields")
	}
	types := map[string]reflect.Type{}
	collectFields(t, types)
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if fieldType, known := types[name]; known {
			errs = append(errs, Check(path.Child(name), object[name], fieldType)...)
			continue
		}
		allowed := strings.Join(slices.Sorted(maps.Keys(types)), ", ")
		errs = append(errs, field.Forbidden(path.Child(name), "unknown field; allowed here: "+allowed))
	}
	return errs
}

// collectFields gathers a struct's fields by their JSON names; those of
// embedded structs count as its own.
func collectFields(t reflect.Type, types map[string]reflect.Type) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" || !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		types[name] = f.Type
	}
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
		errs = append(errs, checkElement(path.Key(key), object[key], t.Elem())...)
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
		errs = append(errs, checkElement(path.Index(i), element, t.Elem())...)
	}
	return errs
}

// checkKey tries a key that decodes itself.
func checkKey(path *field.Path, key string, t reflect.Type) field.ErrorList {
	if !decodesItself(t) {
		return nil
	}
	return checkLeaf(path, key, t)
}

func checkElement(path *field.Path, value any, t reflect.Type) field.ErrorList {
	if value == nil && decodesItself(t) {
		return checkLeaf(path, "", t)
	}
	return Check(path, value, t)
}

// DropBlanks removes the fields that are null from a tree of the shape of t, so
// that decoding it leaves them as they are.
func DropBlanks(value any, t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer:
		DropBlanks(value, t.Elem())
	case reflect.Slice:
		list, _ := value.([]any)
		for _, element := range list {
			DropBlanks(element, t.Elem())
		}
	case reflect.Map:
		object, _ := value.(map[string]any)
		for _, element := range object {
			DropBlanks(element, t.Elem())
		}
	case reflect.Struct:
		object, isObject := value.(map[string]any)
		if !isObject || decodesItself(t) {
			return
		}
		types := map[string]reflect.Type{}
		collectFields(t, types)
		for name, element := range object {
			if element == nil {
				delete(object, name)
			} else {
				DropBlanks(element, types[name])
			}
		}
	default:
	}
}

// checkLeaf tries a type that decodes itself.
func checkLeaf(path *field.Path, value any, t reflect.Type) field.ErrorList {
	raw, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(raw, reflect.New(t).Interface())
	}
	switch {
	case err == nil:
		return nil
	case t == durationType:
		return mismatch(path, value, `must be a duration with a unit, such as "90s" or "5m"`)
	case t == quantityType:
		return mismatch(path, value, `must be a quantity, such as "250m" or "200Mi"`)
	default:
		return mismatch(path, value, plainText(value, err))
	}
}

// plainText says what is wrong with a value that is to be text, without the
// value, which stands before it in any case.
func plainText(value any, err error) string {
	text, isText := value.(string)
	if !isText {
		return "must be text"
	}
	return strings.TrimPrefix(err.Error(), strconv.Quote(text)+" ")
}

func checkScalar(path *field.Path, value any, t reflect.Type) field.ErrorList {
	number, _ := value.(json.Number)
	ok, want := false, ""
	switch t.Kind() {
	case reflect.String:
		_, ok = value.(string)
		want = "must be text"
	case reflect.Bool:
		_, ok = value.(bool)
		want = "must be true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		_, err := strconv.ParseInt(number.String(), 10, t.Bits())
		ok, want = err == nil, "must be a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		_, err := strconv.ParseUint(number.String(), 10, t.Bits())
		ok, want = err == nil, "must be a whole number of 0 or more"
	case reflect.Float32, reflect.Float64:
		_, err := strconv.ParseFloat(number.String(), t.Bits())
		ok, want = err == nil, "must be a number"
	default:
		want = fmt.Sprintf("fields of type %s cannot be set", t)
	}
	if ok {
		return nil
	}
	return mismatch(path, value, want)
}

// mismatch reports a value of a wrong type; collections are named by their kind
// instead of being printed.
func mismatch(path *field.Path, value any, want string) field.ErrorList {
	switch value.(type) {
	case map[string]any:
		value = "a mapping"
	case []any:
		value = "a list"
	}
	return field.ErrorList{field.TypeInvalid(path, value, want)}
}
