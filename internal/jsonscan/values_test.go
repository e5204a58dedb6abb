package jsonscan

import (
	"encoding/json"
	"testing"
)

func TestValues(t *testing.T) {
	for text, want := range map[string]int{
		`7`:                               1,
		`{}`:                              2,
		`[{},{},{}]`:                      7,
		`{"a":[1,2],"b":"x"}`:             5,
		`{"{,[\",{":"[,\\","\\\"{": "{"}`: 3,
		`["`:                              2,
		`["\`:                             2,
	} {
		if got := Values([]byte(text)); got != want {
			t.Errorf("%s has %d values, not %d", text, got, want)
		}
	}
}

// FuzzValues verifies that a valid text never has more values than the bound, however its strings
// and brackets are nested.
func FuzzValues(f *testing.F) {
	for _, text := range []string{
		`7`, `{}`, `[[],{},{"a":[]}]`, `{"a":1,"a":2}`, `{"{,[\",{":"[,\\","\\\"{": "{"}`, `"\u0022,"`, ` [ 1 , "]" ] `, `["\\",1,"\\\\"]`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		bound := Values(text)
		var decoded any
		if json.Unmarshal(text, &decoded) != nil {
			return
		}
		if n := count(decoded); n > bound {
			t.Fatalf("%q has %d values, and is bounded by %d", text, n, bound)
		}
	})
}

// count returns the number of values within a value, including itself.
func count(value any) int {
	n := 1
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			n += count(item)
		}
	case map[string]any:
		for _, item := range v {
			n += count(item)
		}
	}
	return n
}
