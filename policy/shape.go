package policy

import (
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
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	durationType    = reflect.TypeFor[metav1.Duration]()
	quantityType    = reflect.TypeFor[resource.Quantity]()
)

// checkShape compares a generic JSON tree with the Go type it is about to be
// decoded into and reports every unknown field and every value of a wrong type.
// Unlike a strict JSON decoder it does not stop at the first mistake, names the
// whole path through lists and maps, and tells what is allowed there. Names are
// compared exactly. A null is an absent value.
func checkShape(path *field.Path, value any, t reflect.Type) field.ErrorList {
	if t.Kind() == reflect.Pointer {
		return checkShape(path, value, t.Elem())
	}
	switch {
	case value == nil:
		return nil
	case reflect.PointerTo(t).Implements(unmarshalerType):
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
			errs = append(errs, checkShape(path.Child(name), object[name], fieldType)...)
			continue
		}
		allowed := strings.Join(slices.Sorted(maps.Keys(types)), ", ")
		errs = append(errs, field.Forbidden(path.Child(name), "unknown field; allowed here: "+allowed))
	}
	return errs
}

// collectFields gathers a struct's fields by their JSON names; those of embedded
// structs count as its own.
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
		errs = append(errs, checkShape(path.Key(key), object[key], t.Elem())...)
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
		errs = append(errs, checkShape(path.Index(i), element, t.Elem())...)
	}
	return errs
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
		return mismatch(path, value, err.Error())
	}
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
