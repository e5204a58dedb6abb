package likely

import (
	"strings"
	"testing"
)

func TestWord(t *testing.T) {
	levels := []string{"deviation", "evict", "leave", "low", "reject", "windows"}
	cases := map[string]struct {
		typed string
		words []string
		want  string
	}{
		"a letter is missing":                {"rejct", levels, "reject"},
		"a letter too many":                  {"rejectt", levels, "reject"},
		"a wrong letter":                     {"evikt", levels, "evict"},
		"two are exchanged":                  {"levae", levels, "leave"},
		"the end in another form":            {"evicted", levels, "evict"},
		"other case":                         {"Evict", levels, "evict"},
		"a hyphen is missing":                {"dryrun", []string{"kubeconfig", "dry-run"}, "dry-run"},
		"the nearest counts":                 {"cpu.presure", []string{"memory.pressure", "cpu.pressure", "io.pressure"}, "cpu.pressure"},
		"the first of two equally near ones": {"avg_6m", []string{"avg_5m", "avg_1m"}, "avg_5m"},
		"a beginning":                        {"RealUsage", []string{"PodLifeTime", "RealUsageLowNodeUtilization"}, "RealUsageLowNodeUtilization"},
		"too short for a beginning":          {"le", levels, ""},
		"nothing like it":                    {"url", levels, ""},
		"another thing of three letters":     {"gpu", []string{"cpu", "memory"}, ""},
		"three letters in another case":      {"CPU", []string{"memory", "cpu"}, "cpu"},
		"too many mistakes":                  {"rjct", levels, ""},
		"one of three letters is missing":    {"yml", []string{"json", "yaml"}, "yaml"},
		"nothing typed":                      {"", levels, ""},
		"nothing known":                      {"reject", nil, ""},
		"no word":                            {strings.Repeat("x", 65), []string{strings.Repeat("x", 66)}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Word(tc.typed, tc.words); got != tc.want {
				t.Errorf("Word(%q) = %q, want %q", tc.typed, got, tc.want)
			}
		})
	}
}

func TestHint(t *testing.T) {
	for typed, want := range map[string]string{"evcit": `, did you mean "evict"?`, "other": ""} {
		if got := Hint(typed, []string{"evict"}); got != want {
			t.Errorf("Hint(%q) = %q, want %q", typed, got, want)
		}
	}
}

func FuzzWord(f *testing.F) {
	f.Add("rejct", "reject")
	f.Add("\xff", "ÿ")
	f.Fuzz(func(t *testing.T, typed, word string) {
		if got := Word(typed, []string{word}); got != "" && got != word {
			t.Errorf("Word(%q) = %q, which is not among the words", typed, got)
		}
		if len(typed) <= longest && typed != "" && Word(typed, []string{typed}) != typed {
			t.Errorf("%q is not like itself", typed)
		}
	})
}
