package crane_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/annotations"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
)

const head = "apiVersion: scheduler.policy.crane.io/v1alpha1\nkind: DynamicSchedulerPolicy\n"

// whole returns a policy that uses every part of Crane's format, with limits in the given unit.
func whole(limit5m, limit1h string) string {
	return head + `spec:
  syncPolicy:
    - {name: cpu_usage_avg_5m, period: 3m}
    - {name: cpu_usage_max_avg_1h, period: 15m}
    - {name: cpu_usage_max_avg_1d, period: 3h}
    - {name: mem_usage_avg_5m, period: 3m}
    - {name: mem_usage_max_avg_1h, period: 15m}
    - {name: mem_usage_max_avg_1d, period: 3h}
  predicate:
    - {name: cpu_usage_avg_5m, maxLimitPecent: ` + limit5m + `}
    - {name: cpu_usage_max_avg_1h, maxLimitPecent: ` + limit1h + `}
    - {name: mem_usage_avg_5m, maxLimitPecent: ` + limit5m + `}
    - {name: mem_usage_max_avg_1h, maxLimitPecent: ` + limit1h + `}
  priority:
    - {name: cpu_usage_avg_5m, weight: 0.2}
    - {name: cpu_usage_max_avg_1h, weight: 0.3}
    - {name: cpu_usage_max_avg_1d, weight: 0.5}
    - {name: mem_usage_avg_5m, weight: 0.2}
    - {name: mem_usage_max_avg_1h, weight: 0.3}
    - {name: mem_usage_max_avg_1d, weight: 0.5}
  hotValue:
    - {timeRange: 5m, count: 5}
    - {timeRange: 1m, count: 2}
`
}

// wholeToday is the same policy in the current format.
const wholeToday = `apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
eviction: {defaultProfile: false}
usage:
  sources:
    - type: Annotations
      annotations: {unit: UNIT, periods: {avg_5m: 3m, max_avg_1h: 15m, max_avg_1d: 3h}}
hot: {windows: [avg_5m]}
lines:
  cpu: {low: 50, reject: 65, evict: 70, leave: 65, windows: {max_avg_1h: {reject: 75, evict: 75}}}
  memory: {low: 50, reject: 65, evict: 70, leave: 65, windows: {max_avg_1h: {reject: 75, evict: 75}}}
scoring:
  measured:
    formula: Crane
    terms:
      - {metric: cpu, window: avg_5m, weight: 0.2}
      - {metric: cpu, window: max_avg_1h, weight: 0.3}
      - {metric: cpu, window: max_avg_1d, weight: 0.5}
      - {metric: memory, window: avg_5m, weight: 0.2}
      - {metric: memory, window: max_avg_1h, weight: 0.3}
      - {metric: memory, window: max_avg_1d, weight: 0.5}
    limits:
      - {metric: cpu, window: avg_5m, abovePercent: 65}
      - {metric: cpu, window: max_avg_1h, abovePercent: 75}
      - {metric: memory, window: avg_5m, abovePercent: 65}
      - {metric: memory, window: max_avg_1h, abovePercent: 75}
    message: node load is too high
    rejectAll: false
  hotValue:
    - {timeRange: 5m, count: 5}
    - {timeRange: 1m, count: 2}
`

func load(t *testing.T, text string) *policy.File {
	t.Helper()
	file, err := compat.Load("policy.yaml", []byte(text), kinds.All)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Retired) > 0 {
		t.Errorf("the conversion uses retired settings: %+v", file.Retired)
	}
	return file
}

// One of Crane's policies can replace a LoadPolicy. It means the same as its equivalent in the
// current format.
func TestPolicyLoadsAsALoadPolicy(t *testing.T) {
	cases := map[string]struct{ text, unit string }{
		"crane-scheduler: limits are fractions":        {whole("0.65", "0.75"), "fraction"},
		"crane-scheduler-plus: limits are percentages": {whole("65", "75"), "percent"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := load(t, tc.text)
			want := load(t, strings.Replace(wholeToday, "UNIT", tc.unit, 1))
			if diff := cmp.Diff(want.Load, got.Load); diff != "" {
				t.Errorf("policy (-today +Crane's):\n%s", diff)
			}
			if !got.SourcesGiven || len(got.Converted) != 1 || got.Converted[0].Format != "scheduler.policy.crane.io/v1alpha1" {
				t.Errorf("not reported as converted: %+v", got.Converted)
			}
		})
	}
}

// The one-line policy in the documentation of crane-scheduler-plus means the same as the policy
// above.
func TestPolicyOfTheText(t *testing.T) {
	text := string(testkit.EarlierSystem(t, "crane-scheduler-plus.md"))
	_, text, _ = strings.Cut(text, head[:strings.Index(head, "\n")])
	text, _, _ = strings.Cut(text, "\n")
	break2, break4 := "\n  ", "\n    "
	text = strings.NewReplacer(
		"##cpu usage", "", "##memory usage", "", " kind:", "\nkind:", " spec:", "\nspec:",
		" syncPolicy:", break2+"syncPolicy:", " predicate:", break2+"predicate:", " priority:", break2+"priority:", " hotValue:", break2+"hotValue:",
		" - ", break2+"- ", " period:", break4+"period:", " maxLimitPecent:", break4+"maxLimitPecent:", " weight:", break4+"weight:", " count:", break4+"count:",
	).Replace(text)
	got, want := load(t, head[:strings.Index(head, "\n")]+text), load(t, whole("65", "75"))
	if diff := cmp.Diff(want.Load, got.Load); diff != "" {
		t.Errorf("policy (-want +got):\n%s\n%s", diff, text)
	}
}

// noted reports whether a note about a field contains a text, and whether that note is lossy.
func noted(file *policy.File, field, text string) (found, lossy bool) {
	for _, note := range file.Converted[0].Notes {
		if note.Field == field && strings.Contains(note.Text, text) {
			return true, note.Lossy
		}
	}
	return false, false
}

// What Crane ignores is ignored here as well, with a note.
func TestWhatCranePassesOver(t *testing.T) {
	cases := map[string]struct {
		spec                   string
		wantLimits, wantTerms  int
		field, note            string
		wantMetrics            []usage.Metric
		wantUnit               source.Unit
		wantCPULow, wantReject float64
	}{
		"a limit of 0": {
			spec:       "syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\npredicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0}]",
			wantLimits: 0, field: "scoring.measured.limits", note: "predicate[0] (cpu_usage_avg_5m) is left out: a limit of 0",
			wantMetrics: []usage.Metric{usage.CPU}, wantUnit: source.Auto, wantCPULow: 45, wantReject: 60,
		},
		"a limit on a metric that is not synced": {
			spec: "syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\npredicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 80}, {name: mem_usage_avg_5m, maxLimitPecent: 65}]",
			// The evict line is 5 above 80, and the leave line 15 below the evict line.
			wantLimits: 1, field: "scoring.measured.limits", note: "predicate[1] (mem_usage_avg_5m) is left out: Crane ignores",
			wantMetrics: []usage.Metric{usage.CPU}, wantUnit: source.Percent, wantCPULow: 65, wantReject: 80,
		},
		"a priority on a metric that is not synced": {
			spec:      "syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\npriority: [{name: mem_usage_avg_5m, weight: 1}]",
			wantTerms: 1, field: "scoring.measured.terms[0]", note: "mem_usage_avg_5m is not in syncPolicy",
			wantMetrics: []usage.Metric{usage.CPU}, wantUnit: source.Auto, wantCPULow: 45, wantReject: 60,
		},
		"no priority": {
			spec:  "syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]",
			field: "scoring.measured.terms", note: "no node is preferred",
			wantMetrics: []usage.Metric{usage.CPU}, wantUnit: source.Auto, wantCPULow: 45, wantReject: 60,
		},
		"a fraction that is not a whole percentage": {
			spec: "syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\npredicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.29}]",
			// and not 28.999999999999996
			wantLimits: 1, field: "usage.sources[0].annotations.unit", note: "limits are fractions",
			wantMetrics: []usage.Metric{usage.CPU}, wantUnit: source.Fraction, wantCPULow: 14, wantReject: 29,
		},
		"a limit near 100%": {
			spec: "syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\npredicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 1}]",
			// The evict line is at 100, and the reject line 3 below it.
			wantLimits: 1, field: "lines", note: "Crane did not move pods",
			wantMetrics: []usage.Metric{usage.CPU}, wantUnit: source.Fraction, wantCPULow: 82, wantReject: 97,
		},
		"a limit near 0%": {
			spec:       "syncPolicy: [{name: cpu_usage_max_avg_1d, period: 3h}]\npredicate: [{name: cpu_usage_max_avg_1d, maxLimitPecent: 8}]",
			wantLimits: 1, field: "scoring.measured.rejectAll", note: "set true to let the pod wait",
			wantMetrics: []usage.Metric{usage.CPU}, wantUnit: source.Percent, wantCPULow: 4, wantReject: 8,
		},
		"the hourly limit is the lower one": {
			spec: "syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: cpu_usage_max_avg_1h, period: 15m}]\n" +
				"predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 90}, {name: cpu_usage_max_avg_1h, maxLimitPecent: 60}]",
			wantLimits: 2, field: "scoring.measured.message", note: "one text",
			wantMetrics: []usage.Metric{usage.CPU}, wantUnit: source.Percent, wantCPULow: 45, wantReject: 90,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file := load(t, head+"spec:\n  "+strings.ReplaceAll(tc.spec, "\n", "\n  ")+"\n")
			measured := file.Load.Scoring.Measured
			if len(measured.Limits) != tc.wantLimits || len(measured.Terms) != tc.wantTerms {
				t.Errorf("%d limits and %d terms, want %d and %d", len(measured.Limits), len(measured.Terms), tc.wantLimits, tc.wantTerms)
			}
			if diff := cmp.Diff(tc.wantMetrics, file.Load.Lines.Metrics()); diff != "" {
				t.Errorf("judged metrics (-want +got):\n%s", diff)
			}
			if unit := file.Load.Usage.Sources[0].Config.(*annotations.Config).Unit; unit != tc.wantUnit {
				t.Errorf("unit %s, want %s", unit, tc.wantUnit)
			}
			if cpu := file.Load.Lines[usage.CPU]; *cpu.Low != tc.wantCPULow || *cpu.Reject != tc.wantReject {
				t.Errorf("low %v and reject %v, want %v and %v", *cpu.Low, *cpu.Reject, tc.wantCPULow, tc.wantReject)
			}
			found, lossy := noted(file, tc.field, tc.note)
			if !found || lossy != (tc.field == "scoring.measured.rejectAll") {
				t.Errorf("note about %s with %q: found %v, lossy %v, in %+v", tc.field, tc.note, found, lossy, file.Converted[0].Notes)
			}
		})
	}
}

// In Crane, two metrics of one window may have different periods. The current format has one period
// per window, so the longer one counts.
func TestTheLongerPeriodCounts(t *testing.T) {
	file := load(t, head+"spec: {syncPolicy: [{name: mem_usage_avg_5m, period: 10m}, {name: cpu_usage_avg_5m, period: 3m}, {name: cpu_usage_max_avg_1h, period: 1h}]}\n")
	avg5m, max1h := usage.Avg5m, usage.Window{Kind: usage.KindMaxAvg, Over: time.Hour}
	periods := file.Load.Usage.Sources[0].Config.(*annotations.Config).Periods
	if periods[avg5m] != (metav1.Duration{Duration: 10 * time.Minute}) || periods[max1h] != (metav1.Duration{Duration: time.Hour}) {
		t.Errorf("periods %v", periods)
	}
	if found, _ := noted(file, "usage.sources[0].annotations.periods[avg_5m]", "the longer one applies to both"); !found {
		t.Errorf("nothing is said about it: %+v", file.Converted[0].Notes)
	}
	if found, _ := noted(file, "usage.sources[0].annotations.periods[max_avg_1h]", ""); found {
		t.Error("a period that is alone is said to differ")
	}
}

// Every field that a note refers to exists in the converted document.
func TestNotesNameExistingFields(t *testing.T) {
	converted := load(t, whole("0.65", "0.75")).Converted[0]
	text, err := yaml.Marshal(converted.Object)
	if err != nil {
		t.Fatal(err)
	}
	again := load(t, string(text))
	if len(again.Converted) != 0 {
		t.Error("the converted document is converted again")
	}
	for _, note := range converted.Notes {
		if strings.HasSuffix(note.Text, ".") || note.Text == "" {
			t.Errorf("note %q is not a sentence without a period", note.Text)
		}
	}
}
