package policy

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestPlaces(t *testing.T) {
	const text = `# of the second document
usage:
  timeout: 5s
  sources:
  - type: Kubelet
  - {type: Prometheus, prometheus: {port: 1}}
lines:
  memory.available: {low: 3}
  memory: &same
    low: 70
  cpu: *same
headers: {"a.b": x, "a": {b: y}}
empty:
`
	forbidden, invalid := field.ErrorTypeForbidden, field.ErrorTypeInvalid
	cases := map[string]struct {
		path string
		kind field.ErrorType
		want string
	}{
		"a value":                               {"usage.timeout", invalid, "line 12, column 12: "},
		"the name of a forbidden field":         {"usage.timeout", forbidden, "line 12, column 3: "},
		"a value in a list":                     {"usage.sources[1].prometheus.port", invalid, "line 15, column 43: "},
		"a mapping, by its name":                {"usage.sources[1].prometheus", invalid, "line 15, column 24: "},
		"an element of a list":                  {"usage.sources[0]", invalid, "line 14, column 5: "},
		"a missing field, by the enclosing one": {"usage.sources[0].kubelet.port", invalid, "line 14, column 5: "},
		"a missing element":                     {"usage.sources[7]", invalid, "line 13, column 3: "},
		"a missing section":                     {"scoring.weights[cpu]", invalid, "line 11, column 1: "},
		"a name with a dot":                     {"lines[memory.available].low", invalid, "line 17, column 27: "},
		"through an alias":                      {"lines[cpu].low", invalid, "line 19, column 10: "},
		"the longer of two matching names":      {"headers.a.b", invalid, "line 21, column 18: "},
		"a blank value":                         {"empty", invalid, "line 22, column 1: "},
		"the document as a whole":               {"", invalid, "line 11, column 1: "},
	}
	places := PlacesOf([]byte(text), 9)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := places.Of(&field.Error{Type: tc.kind, Field: tc.path}); got != tc.want {
				t.Errorf("%s is at %q, want %q", tc.path, got, tc.want)
			}
		})
	}
	for name, none := range map[string]Places{
		"converted": PlacesOf([]byte(text), -1), "not YAML": PlacesOf([]byte("{"), 0), "empty": PlacesOf(nil, 3), "zero": {},
	} {
		if got := none.Of(&field.Error{Field: "usage"}); got != "" {
			t.Errorf("%s: %q, want no place", name, got)
		}
	}
}
