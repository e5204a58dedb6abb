package status_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/status/page"
)

// Views embed common values. encoding/json silently omits fields with the same name at the same
// depth, so no name may occur twice in a struct and the structs that it embeds.
func TestNoJSONFieldIsHidden(t *testing.T) {
	seen := map[reflect.Type]bool{}
	for _, document := range []any{
		status.NodeExplanation{}, status.PodExplanation{}, status.Plan{}, status.Top{}, status.Status{}, page.Page{},
	} {
		checkFields(t, reflect.TypeOf(document), seen)
	}
	if len(seen) < 40 {
		t.Errorf("only %d types were checked", len(seen))
	}
}

func checkFields(t *testing.T, of reflect.Type, seen map[reflect.Type]bool) {
	t.Helper()
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		checkFields(t, of.Elem(), seen)
		return
	case reflect.Struct:
	default:
		return
	}
	if seen[of] || of == reflect.TypeFor[time.Time]() {
		return
	}
	seen[of] = true
	addFields(t, of, map[string]string{}, seen)
}

// addFields adds the JSON names of a struct and of its embedded structs, each with the field that
// has it.
func addFields(t *testing.T, of reflect.Type, where map[string]string, seen map[reflect.Type]bool) {
	t.Helper()
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			addFields(t, field.Type, where, seen)
			continue
		case !field.IsExported():
			continue
		case name == "":
			t.Errorf("%s.%s has no JSON name", of, field.Name)
		case where[name] != "":
			t.Errorf("%s.%s and %s have the JSON name %s", of, field.Name, where[name], name)
		}
		where[name] = of.String() + "." + field.Name
		checkFields(t, field.Type, seen)
	}
}
