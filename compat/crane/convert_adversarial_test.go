package crane_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
)

// place matches the position at the start of a message.
var place = regexp.MustCompile("^line [0-9]+, column [0-9]+: ")

// Every mistake leads to one line with the file, the field, the value and what is allowed.
func TestMistakesAreNamed(t *testing.T) {
	const (
		sync  = "syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: cpu_usage_max_avg_1h, period: 15m}]"
		names = `"cpu_usage_avg_5m", "cpu_usage_max_avg_1d", "cpu_usage_max_avg_1h", "mem_usage_avg_5m", "mem_usage_max_avg_1d", "mem_usage_max_avg_1h"`
	)
	cases := map[string]struct {
		spec string
		want []string
	}{
		"an empty document": {"", []string{"spec.syncPolicy: Required value: at least one metric with its period; without one, every node is unknown"}},
		"an empty spec":     {"spec: {}", []string{"spec.syncPolicy: Required value: at least one metric with its period; without one, every node is unknown"}},
		"a spec that is a list": {
			"spec: []", []string{`spec: Invalid value: "a list": must be a mapping of fields`},
		},
		"the field with correct spelling": {
			"spec: {" + sync + ", predicate: [{name: cpu_usage_avg_5m, maxLimitPercent: 0.65}]}",
			[]string{"spec.predicate[0].maxLimitPercent: unknown field \"maxLimitPercent\", did you mean \"maxLimitPecent\"? (allowed: maxLimitPecent, name)"},
		},
		"metadata, which Crane does not have": {
			"metadata: {name: p}\nspec: {" + sync + "}",
			[]string{`metadata: unknown field "metadata" (allowed: apiVersion, kind, spec)`},
		},
		"unknown metrics": {
			"spec: {syncPolicy: [{name: cpu_usage_active, period: 3m}], predicate: [{name: cpu, maxLimitPecent: 65}], priority: [{weight: 1}]}",
			[]string{
				`spec.syncPolicy[0].name: Unsupported value: "cpu_usage_active": supported values: ` + names,
				`spec.predicate[0].name: Unsupported value: "cpu": did you mean "cpu_usage_avg_5m"? supported values: ` + names,
				`spec.priority[0].name: Unsupported value: "": supported values: ` + names,
			},
		},
		"metrics named twice": {
			"spec: {syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: cpu_usage_avg_5m, period: 5m}], predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 65}, {name: cpu_usage_avg_5m, maxLimitPecent: 70}]}",
			[]string{
				`spec.syncPolicy[1].name: Duplicate value: "cpu_usage_avg_5m"`,
				`spec.predicate[1].name: Duplicate value: "cpu_usage_avg_5m"`,
			},
		},
		"a fraction mixed with a percentage": {
			"spec: {" + sync + ", predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.65}, {name: cpu_usage_max_avg_1h, maxLimitPecent: 75}]}",
			[]string{"spec.predicate[1].maxLimitPecent: Invalid value: 75: is a percentage and predicate[0] (0.65) is not; all limits must be fractions, at most 1, or all percentages, above 1"},
		},
		"a percentage mixed with a fraction and a zero limit": {
			"spec: {" + sync + ", predicate: [{name: mem_usage_avg_5m, maxLimitPecent: 0}, {name: cpu_usage_avg_5m, maxLimitPecent: 65}, {name: cpu_usage_max_avg_1h, maxLimitPecent: 0.75}]}",
			[]string{"spec.predicate[2].maxLimitPecent: Invalid value: 0.75: is a fraction and predicate[1] (65) is not; all limits must be fractions, at most 1, or all percentages, above 1"},
		},
		"limits out of range": {
			"spec: {" + sync + ", predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: -1}, {name: cpu_usage_max_avg_1h, maxLimitPecent: 165}]}",
			[]string{
				"spec.predicate[0].maxLimitPecent: Invalid value: -1: must be from 0 (no limit) to 1, a fraction, or above 1 to 100, a percentage",
				"spec.predicate[1].maxLimitPecent: Invalid value: 165: must be from 0 (no limit) to 1, a fraction, or above 1 to 100, a percentage",
			},
		},
		"values of wrong types": {
			`spec: {syncPolicy: [{name: cpu_usage_avg_5m, period: 180}], predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 65%}], priority: {cpu_usage_avg_5m: 1}, hotValue: [{timeRange: 5m, count: 2.5}]}`,
			[]string{
				"spec.hotValue[0].count: Invalid value: 2.5: must be a whole number",
				`spec.predicate[0].maxLimitPecent: Invalid value: "65%": must be a number`,
				`spec.priority: Invalid value: "a mapping": must be a list`,
				`spec.syncPolicy[0].period: Invalid value: 180: must be a duration with a unit (h, m, s or ms), such as "90s" or "5m"`,
			},
		},
		"numbers out of range": {
			"spec: {syncPolicy: [{name: cpu_usage_avg_5m}, {name: cpu_usage_max_avg_1h, period: 25h}], priority: [{name: cpu_usage_avg_5m, weight: -1}, {name: cpu_usage_max_avg_1h, weight: 1001}], hotValue: [{timeRange: 5s, count: 0}, {timeRange: 2h, count: 1001}, {timeRange: 120m, count: 1}]}",
			[]string{
				`spec.syncPolicy[0].period: Invalid value: "0s": must be from 10s to 24h0m0s`,
				`spec.syncPolicy[1].period: Invalid value: "25h0m0s": must be from 10s to 24h0m0s`,
				"spec.priority[0].weight: Invalid value: -1: must be from 0 to 1000",
				"spec.priority[1].weight: Invalid value: 1001: must be from 0 to 1000",
				`spec.hotValue[0].timeRange: Invalid value: "5s": must be from 10s to 1h0m0s`,
				"spec.hotValue[0].count: Invalid value: 0: must be from 1 to 1000",
				`spec.hotValue[1].timeRange: Invalid value: "2h0m0s": must be from 10s to 1h0m0s`,
				"spec.hotValue[1].count: Invalid value: 1001: must be from 1 to 1000",
				`spec.hotValue[2].timeRange: Invalid value: "2h0m0s": must be from 10s to 1h0m0s`,
				`spec.hotValue[2].timeRange: Duplicate value: "2h0m0s"`,
			},
		},
		"weights of zero": {
			"spec: {" + sync + ", priority: [{name: cpu_usage_avg_5m, weight: 0}]}",
			[]string{"spec.priority: Required value: at least one must have a weight above 0"},
		},
		"too many hot values": {
			"spec: {" + sync + ", hotValue: [" + strings.Repeat("{timeRange: 5m, count: 5}, ", 11) + "]}",
			[]string{"spec.hotValue: Too many: 11: must have at most 10 items"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := compat.Load("policy.yaml", []byte(head+tc.spec+"\n"), kinds.All)
			invalid, ok := errors.AsType[*policy.Error](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			want := make([]string, len(tc.want))
			for i, problem := range tc.want {
				want[i] = "scheduler.policy.crane.io/v1alpha1: " + problem
			}
			got := make([]string, len(invalid.Problems))
			for i, problem := range invalid.Problems {
				if !place.MatchString(problem) {
					t.Errorf("it does not say where: %s", problem)
				}
				got[i] = place.ReplaceAllString(problem, "")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// A file that is not a document is rejected before its meaning is considered.
func TestFilesThatAreNotDocuments(t *testing.T) {
	bomb := head + "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 8 {
		was, is := string(rune('0'+i)), string(rune('1'+i))
		bomb += "a" + is + ": &a" + is + " [" + strings.Repeat("*a"+was+", ", 10) + "]\n"
	}
	cases := map[string]struct{ text, want string }{
		"a key given twice":        {head + "spec:\n  predicate: []\n  predicate: []\n", "predicate"},
		"an alias bomb":            {bomb, "excessive aliasing"},
		"a file that is too large": {head + strings.Repeat("#", policy.MaxFileBytes), "at most 1048576 are allowed"},
		"another version":          {strings.Replace(head, "v1alpha1", "v1", 1), "is not known; allowed"},
		"two of them":              {whole("65", "75") + "---\n" + whole("65", "75"), "only one is allowed"},
		"one beside a LoadPolicy":  {whole("65", "75") + "---\napiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n", "only one is allowed"},
		"fifty thousand names":     {head + "spec: {syncPolicy: [" + strings.Repeat("{name: x}, ", 50_000) + "]}\n", "spec.syncPolicy: Too many: 50000: must have at most 6 items"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := compat.Load("policy.yaml", []byte(tc.text), kinds.All)
			if err == nil || !strings.HasPrefix(err.Error(), "policy.yaml: ") || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %.300v, want one of policy.yaml with %q", err, tc.want)
			}
			if lines := strings.Count(err.Error(), "\n"); lines > 50 {
				t.Errorf("%d lines of mistakes", lines)
			}
		})
	}
}
