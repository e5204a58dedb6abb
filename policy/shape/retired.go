package shape

import (
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// retiredTag marks a field that will be removed in two versions. Its value is the reason, in half a sentence:
//
//	Interval metav1.Duration `json:"interval" retired:"its default suits every cluster"`
//
// Until then the field is decoded, checked and obeyed as before, but no page documents
// it, and a user who sets it is warned. On a field of a struct type, the tag covers all
// fields inside it.
const retiredTag = "retired"

// Why returns the reason why a field is retired, and whether it is retired.
func Why(f reflect.StructField) (why string, retired bool) { return f.Tag.Lookup(retiredTag) }

// Retired is a retired field that occurs in a document.
type Retired struct {
	Path *field.Path
	Why  string
}

// RetiredFields returns the retired fields that occur in a checked document, in alphabetical order.
func RetiredFields(path *field.Path, value any, t reflect.Type) (found []Retired) {
	if t.Kind() == reflect.Pointer {
		return RetiredFields(path, value, t.Elem())
	}
	if decodesItself(t) || t.Kind() == reflect.Interface {
		return nil
	}
	switch value := value.(type) {
	case []any:
		for i, element := range value {
			found = append(found, RetiredFields(path.Index(i), element, t.Elem())...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if t.Kind() == reflect.Map {
				found = append(found, RetiredFields(path.Key(name), value[name], t.Elem())...)
				continue
			}
			one := fieldsOf(t)[name]
			if why, retired := Why(one); retired {
				found = append(found, Retired{path.Child(name), why})
				continue
			}
			found = append(found, RetiredFields(path.Child(name), value[name], one.Type)...)
		}
	}
	return found
}

// documented returns the names of the fields that are not retired.
func documented(fields map[string]reflect.StructField) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(fields)), func(name string) bool {
		_, retired := Why(fields[name])
		return retired
	})
}
