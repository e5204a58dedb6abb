package jsonscan

import "testing"

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
