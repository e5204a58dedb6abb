package shape

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type example struct {
	Name  string         `json:"name"`
	Count *int           `json:"count"`
	Parts []part         `json:"parts"`
	Marks map[string]int `json:"marks"`
}

type part struct {
	On bool `json:"on"`
}

// Decode accepts a document as a whole or not at all, and names every mistake.
func TestDecode(t *testing.T) {
	three := 3
	cases := map[string]struct {
		object map[string]any
		want   example
		errs   []string
	}{
		"every kind of value": {
			object: map[string]any{
				"name": "a", "count": json.Number("3"), "parts": []any{map[string]any{"on": true}}, "marks": map[string]any{"x": json.Number("1")},
			},
			want: example{"a", &three, []part{{true}}, map[string]int{"x": 1}},
		},
		"null is an absent value": {object: map[string]any{"name": nil, "count": nil, "parts": nil}},
		"null in a list is a mistake": {
			object: map[string]any{"parts": []any{map[string]any{}, nil}},
			errs:   []string{`parts[1]: Required value: null is not allowed in a list; give the element a value or remove it`},
		},
		"one value does not fit, and a field is not known": {
			object: map[string]any{"name": "a", "parts": []any{map[string]any{"on": "off"}}, "mark": json.Number("1")},
			errs: []string{
				`mark: Forbidden: unknown field "mark", did you mean "marks"? (allowed: count, marks, name, parts)`,
				`parts[0].on: Invalid value: "off": must be true or false`,
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got example
			var errs []string
			for _, err := range Decode(tc.object, &got) {
				errs = append(errs, err.Error())
			}
			if diff := cmp.Diff(tc.errs, errs); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("decoded (-want +got):\n%s", diff)
			}
		})
	}
}

// Null fields are removed at any depth. Elements of lists keep their positions.
func TestWithoutNulls(t *testing.T) {
	tree := map[string]any{
		"a": nil, "b": "", "c": map[string]any{"d": nil}, "e": []any{nil, map[string]any{"f": nil, "g": false}, []any{map[string]any{"h": nil}}},
	}
	want := map[string]any{
		"b": "", "c": map[string]any{}, "e": []any{nil, map[string]any{"g": false}, []any{map[string]any{}}},
	}
	if diff := cmp.Diff(any(want), WithoutNulls(tree)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

// Retired fields are found anywhere in a document.
func TestRetiredFields(t *testing.T) {
	type inner struct {
		Old  int `json:"old" retired:"too old"`
		Kept int `json:"kept"`
	}
	type outer struct {
		inner
		Whole *inner           `json:"whole" retired:"all of it"`
		List  []inner          `json:"list"`
		Map   map[string]inner `json:"map"`
		Free  any              `json:"free"`
	}
	both := map[string]any{"old": json.Number("1"), "kept": json.Number("2")}
	object := map[string]any{
		"old": json.Number("1"), "whole": both, "list": []any{map[string]any{"kept": json.Number("1")}, both}, "map": map[string]any{"a.b": both}, "free": both,
	}
	var got []string
	for _, one := range RetiredFields(nil, object, reflect.TypeFor[*outer]()) {
		got = append(got, one.Path.String()+": "+one.Why)
	}
	want := []string{"list[1].old: too old", "map[a.b].old: too old", "old: too old", "whole: all of it"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
}
