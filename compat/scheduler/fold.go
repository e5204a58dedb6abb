package scheduler

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// properNames maps the lower-case names of extender fields to their proper case.
var properNames = func() map[string]string {
	names := map[string]string{}
	for _, t := range []reflect.Type{reflect.TypeFor[legacy](), reflect.TypeFor[tls](), reflect.TypeFor[resource]()} {
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names[strings.ToLower(name)] = name
		}
	}
	return names
}()

// unfold returns a Policy with the fields of its extenders in their proper case.
// kube-scheduler accepted any case, and some files rely on that, for example with
// BindVerb or enableHTTPS. Two fields that differ only in case are an error. The document
// itself is not changed.
func unfold(object map[string]any) (map[string]any, field.ErrorList) {
	if object["extenders"] == nil {
		return object, nil
	}
	out := maps.Clone(object)
	extenders, errs := proper(field.NewPath("extenders"), object["extenders"])
	out["extenders"] = extenders
	return out, errs
}

// proper returns a value with all fields in their proper case.
func proper(path *field.Path, value any) (any, field.ErrorList) {
	var errs field.ErrorList
	switch value := value.(type) {
	case []any:
		out := make([]any, len(value))
		for i, element := range value {
			var found field.ErrorList
			out[i], found = proper(path.Index(i), element)
			errs = append(errs, found...)
		}
		return out, errs
	case map[string]any:
		out := make(map[string]any, len(value))
		for _, name := range slices.Sorted(maps.Keys(value)) {
			known := cmp.Or(properNames[strings.ToLower(name)], name)
			element, found := proper(path.Child(known), value[name])
			errs = append(errs, found...)
			if _, twice := out[known]; twice {
				errs = append(errs, field.Duplicate(path.Child(known), name))
			}
			out[known] = element
		}
		return out, errs
	}
	return value, nil
}
