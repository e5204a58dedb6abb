package presets_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/compat/presets"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
)

// loadMemory loads settings as a policy, as if they came from a file.
func loadMemory(t *testing.T, settings presets.Memory) *policy.LoadPolicy {
	t.Helper()
	preset, errs := settings.Preset()
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	text, err := yaml.Marshal(preset.Object)
	if err != nil {
		t.Fatal(err)
	}
	file, err := compat.Load("preset", text, kinds.All)
	if err != nil {
		t.Fatal(err)
	}
	if len(file.Retired) > 0 {
		t.Errorf("the conversion uses retired settings: %+v", file.Retired)
	}
	return &file.Load
}

func TestMemoryPreset(t *testing.T) {
	got := loadMemory(t, presets.Memory{PrometheusURL: "http://prometheus:9090/p", Metric: `memory{job="n"}`, ThresholdPercent: 85})
	if got.Usage.SampleInterval.Duration != time.Minute || got.Usage.MaxAge.Duration != 3*time.Minute {
		t.Errorf("read every %v, good for %v, want 1m and 3m", got.Usage.SampleInterval, got.Usage.MaxAge)
	}
	asked := policy.NewSource(prometheus.Name, kinds.All)
	config := asked.Config.(*prometheus.Config)
	config.Address, config.NodeLabel = "http://prometheus:9090/p", "instance"
	config.Queries.Nodes = map[usage.Metric]prometheus.Query{usage.Memory: {Unit: source.Percent, Expr: `memory{job="n"}`}}
	if diff := cmp.Diff([]policy.Source{asked}, got.Usage.Sources); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
	last, threshold := usage.Last, 85.0
	want := &policy.MeasuredScoring{
		Formula:   policy.FormulaMemoryLoad,
		Terms:     []policy.MeasuredTerm{{Metric: usage.Memory, Window: last, Weight: 1}},
		Limits:    []policy.MeasuredLimit{{Metric: usage.Memory, Window: last, FromPercent: &threshold}},
		Message:   "node memory load high",
		RejectAll: true,
	}
	if diff := cmp.Diff(want, got.Scoring.Measured); diff != "" {
		t.Errorf("scoring (-want +got):\n%s", diff)
	}
}

// Every threshold results in a policy whose lines are in order and that judges only memory.
func TestMemoryPresetForEveryThreshold(t *testing.T) {
	for _, threshold := range []float64{0.5, 1, 2, 19, 20, 21, 50, 80, 85.5, 96, 97, 97.5, 98, 99, 100} {
		settings := presets.DefaultMemory()
		settings.ThresholdPercent = threshold
		got := loadMemory(t, settings)
		if metrics := got.Lines.Metrics(); len(metrics) != 1 || metrics[0] != usage.Memory {
			t.Errorf("%v: lines of %v", threshold, metrics)
		}
		if reject := *got.Lines[usage.Memory].Reject; reject > threshold {
			t.Errorf("%v: moves are planned up to %v", threshold, reject)
		}
		// The extender first rounded usage down to a whole percent, so a threshold of 85.5 means 86
		// or more.
		if from := *got.Scoring.Measured.Limits[0].FromPercent; from != math.Ceil(threshold) {
			t.Errorf("%v: kept out from %v", threshold, from)
		}
	}
}

// The defaults and names are those of the extender's own usage text.
func TestMemoryPresetKeepsToTheUsageText(t *testing.T) {
	text := string(testkit.EarlierSystem(t, "kube-scheduler-extender.md"))
	defaults := presets.DefaultMemory()
	for name, want := range map[string]string{
		presets.NameURL:       strconv.Quote(defaults.PrometheusURL),
		presets.NameMetric:    strconv.Quote(defaults.Metric),
		presets.NameThreshold: strconv.FormatFloat(defaults.ThresholdPercent, 'f', -1, 64),
	} {
		found := regexp.MustCompile(`(?m)^\s+--` + name + `=(\S+)`).FindStringSubmatch(text)
		if found == nil || found[1] != want {
			t.Errorf("--%s is %q there, want %s", name, found, want)
		}
	}
	if !strings.Contains(text, presets.MemoryMessage) {
		t.Errorf("%q is not what it said", presets.MemoryMessage)
	}
}

func TestMemoryPresetRefuses(t *testing.T) {
	cases := map[string]struct {
		change func(*presets.Memory)
		want   string
	}{
		"no address":            {func(s *presets.Memory) { s.PrometheusURL = "" }, `prometheus_url: Invalid value: ""`},
		"no scheme":             {func(s *presets.Memory) { s.PrometheusURL = "p:9090" }, `prometheus_url: Invalid value: "p:9090"`},
		"a file":                {func(s *presets.Memory) { s.PrometheusURL = "file:///etc/passwd" }, "prometheus_url"},
		"no host":               {func(s *presets.Memory) { s.PrometheusURL = "http://:9090" }, "prometheus_url"},
		"a query":               {func(s *presets.Memory) { s.PrometheusURL = "http://p/?a=b" }, "prometheus_url"},
		"a fragment":            {func(s *presets.Memory) { s.PrometheusURL = "http://p/#a" }, "prometheus_url"},
		"control characters":    {func(s *presets.Memory) { s.PrometheusURL = "http://p\x00\n" }, "prometheus_url"},
		"a password":            {func(s *presets.Memory) { s.PrometheusURL = "http://me:secret@p" }, `"...@p"`},
		"a blank metric":        {func(s *presets.Memory) { s.Metric = " \t" }, "prometheus_memory_metrics: Required value"},
		"a control character":   {func(s *presets.Memory) { s.Metric = "a\x7fb" }, "must be text without control characters"},
		"no text":               {func(s *presets.Memory) { s.Metric = "a\xff" }, "must be text without control characters"},
		"nothing kept":          {func(s *presets.Memory) { s.ThresholdPercent = 0 }, "prometheus_memory_threshold: Invalid value: 0"},
		"a negative threshold":  {func(s *presets.Memory) { s.ThresholdPercent = -1 }, "prometheus_memory_threshold: Invalid value: -1"},
		"a threshold above 100": {func(s *presets.Memory) { s.ThresholdPercent = 100.5 }, "prometheus_memory_threshold: Invalid value: 100.5"},
		"a threshold of NaN":    {func(s *presets.Memory) { s.ThresholdPercent = math.NaN() }, "prometheus_memory_threshold: Invalid value: NaN"},
		"an infinite threshold": {func(s *presets.Memory) { s.ThresholdPercent = math.Inf(1) }, "prometheus_memory_threshold: Invalid value: +Inf"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			settings := presets.DefaultMemory()
			tc.change(&settings)
			got, errs := settings.Preset()
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), tc.want) || strings.Contains(errs[0].Error(), "secret") {
				t.Errorf("errors %v, want one: %s", errs, tc.want)
			}
			if got.Object != nil {
				t.Errorf("a policy beside the error: %v", got.Object)
			}
		})
	}
}

// The policy accepts every setting that the preset accepts.
func FuzzMemoryPreset(f *testing.F) {
	f.Add("http://127.0.0.1:9090", "HostMemoryUsagePercent", 80.0)
	f.Add("https://[::1]:9090/a%20b", `max by (instance) (x{a="b"})`, 0.001)
	f.Add("http://p", "a\x7f\xff", 80.0)
	f.Add("http://p:99999/\u00e9", "{{}", 99.999)
	f.Fuzz(func(t *testing.T, address, metric string, threshold float64) {
		preset, errs := presets.Memory{PrometheusURL: address, Metric: metric, ThresholdPercent: threshold}.Preset()
		if len(errs) > 0 {
			return
		}
		text, err := yaml.Marshal(preset.Object)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := compat.Load("preset", text, kinds.All); err != nil {
			t.Errorf("%v of\n%s", err, text)
		}
	})
}
