package scheduler

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// unfold returns a Policy with the fields of its extenders in their proper
// case. kube-scheduler read them in any, and there are files that rely on it:
// BindVerb, enableHTTPS. Two fields that differ in case alone are an error. The
// document itself stays as it is.
func unfold(object map[string]any) (map[string]any, field.ErrorList) {
	list, ok := object["extenders"].([]any)
	if !ok {
		return object, nil
	}
	var errs field.ErrorList
	out := maps.Clone(object)
	extenders := make([]any, len(list))
	for i, extender := range list {
		var found field.ErrorList
		extenders[i], found = proper(field.NewPath("extenders").Index(i), extender, reflect.TypeFor[legacy]())
		errs = append(errs, found...)
	}
	out["extenders"] = extenders
	return out, errs
}

// proper returns a value with the fields of its type in their proper case.
func proper(path *field.Path, value any, t reflect.Type) (any, field.ErrorList) {
	switch t.Kind() {
	case reflect.Pointer:
		return proper(path, value, t.Elem())
	case reflect.Slice:
		return properList(path, value, t.Elem())
	case reflect.Struct:
		return properObject(path, value, t)
	default:
		return value, nil
	}
}

func properList(path *field.Path, value any, t reflect.Type) (any, field.ErrorList) {
	list, ok := value.([]any)
	if !ok {
		return value, nil
	}
	var errs field.ErrorList
	out := make([]any, len(list))
	for i, element := range list {
		var found field.ErrorList
		out[i], found = proper(path.Index(i), element, t)
		errs = append(errs, found...)
	}
	return out, errs
}

func properObject(path *field.Path, value any, t reflect.Type) (any, field.ErrorList) {
	object, ok := value.(map[string]any)
	if !ok {
		return value, nil
	}
	var errs field.ErrorList
	out := make(map[string]any, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		known, element := name, object[name]
		for f := range t.Fields() {
			if own := f.Tag.Get("json"); strings.EqualFold(own, name) {
				var found field.ErrorList
				known = own
				element, found = proper(path.Child(own), element, f.Type)
				errs = append(errs, found...)
				break
			}
		}
		if _, twice := out[known]; twice {
			errs = append(errs, field.Duplicate(path.Child(known), name))
		}
		out[known] = element
	}
	return out, errs
}
