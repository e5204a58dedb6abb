package pressure_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
)

func TestHostileRules(t *testing.T) {
	many := func(n int) string {
		var b strings.Builder
		b.WriteString("Rulename:\n")
		for i := range n {
			fmt.Fprintf(&b, "  r%d: {Promsql: x, Threshold: 1}\n", i)
		}
		return b.String()
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i < 'k'; i++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	cases := map[string]struct{ text, want string }{
		"no rule":                       {"Rulename: {}", "Rulename: Required value: at least one rule"},
		"rules that are null":           {"Rulename:", `apiVersion "" with kind "" is not known`},
		"rules in a list":               {"Rulename: [{Promsql: x, Threshold: 1}]", `Rulename: Invalid value: "a list": must be a mapping`},
		"too many rules":                {many(101), "Rulename: Too many: 101: must have at most 100 items"},
		"a rule that is null":           {"Rulename: {a: }", "Rulename: Required value: at least one rule"},
		"a rule that is text":           {"Rulename: {a: up}", `Rulename[a]: Invalid value: "up": must be a mapping of fields`},
		"no threshold":                  {"Rulename: {a: {Promsql: x}}", "Rulename[a].Threshold: Required value: the value beyond which"},
		"no query":                      {"Rulename: {a: {Threshold: 1}}", "Rulename[a].Promsql: Required value: the query"},
		"a blank query":                 {"Rulename: {a: {Promsql: '  ', Threshold: 1}}", "Rulename[a].Promsql: Required value"},
		"a threshold with a unit":       {"Rulename: {a: {Promsql: x, Threshold: 70%}}", `Rulename[a].Threshold: Invalid value: "70%": must be a number`},
		"a threshold in quotes":         {"Rulename: {a: {Promsql: x, Threshold: '70'}}", `Rulename[a].Threshold: Invalid value: "70": must be a number`},
		"an infinite threshold":         {"Rulename: {a: {Promsql: x, Threshold: .inf}}", "a number must be finite"},
		"a threshold too large":         {"Rulename: {a: {Promsql: x, Threshold: 1e999}}", "Rulename[a].Threshold: Invalid value"},
		"a misspelt field":              {"Rulename: {a: {Promsql: x, Treshold: 1}}", `Rulename[a].Treshold: unknown field "Treshold", did you mean "Threshold"? (allowed: LowerIsWorse, Promsql, Threshold)`},
		"a field in another case":       {"Rulename: {a: {promsql: x, Threshold: 1}}", `Rulename[a].promsql: unknown field "promsql", did you mean "Promsql"?`},
		"a field beside the rules":      {"Rulename: {a: {Promsql: x, Threshold: 1}}\nInterval: 10", `Interval: unknown field "Interval" (allowed: PromJob, Rulename)`},
		"another field of the job":      {"PromJob: {Url: x}\nRulename: {a: {Promsql: x, Threshold: 1}}", `PromJob.Url: unknown field "Url" (allowed: Name)`},
		"two names for the same metric": {"Rulename: {Cpu1: {Promsql: x, Threshold: 1}, cpu1: {Promsql: z, Threshold: 1}}", `Rulename[cpu1]: Invalid value: "cpu1": is called "cpu1" here, and so is "Cpu1"; rename one of them`},
		"two names that differ only at the end": {
			"Rulename: {" + strings.Repeat("a", 63) + "1: {Promsql: x, Threshold: 1}, " + strings.Repeat("a", 63) + "2: {Promsql: z, Threshold: 1}}",
			"rename one of them",
		},
		"one rule twice":  {"Rulename:\n  a: {Promsql: x, Threshold: 1}\n  a: {Promsql: z, Threshold: 1}\n", `key "a" already set`},
		"references":      {bomb + "Rulename: *j\n", "excessive aliasing"},
		"two rule files":  {"Rulename: {a: {Promsql: x, Threshold: 1}}\n---\nRulename: {b: {Promsql: x, Threshold: 1}}", "a second evenkeel.io/v1alpha1 LoadPolicy"},
		"rules of a kind": {"kind: Rules\nRulename: {a: {Promsql: x, Threshold: 1}}", `kind "Rules" is not known`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := compat.Load("rule.yaml", []byte(tc.text), kinds.All)
			if err == nil {
				t.Fatal("accepted")
			}
			if got := err.Error(); !strings.HasPrefix(got, "rule.yaml: ") || !strings.Contains(got, tc.want) {
				t.Errorf("message %q, want %q in it", got, tc.want)
			}
		})
	}
}
