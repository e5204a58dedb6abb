package presets_test

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/compat/presets"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
)

func loadRealUsage(t *testing.T, s presets.RealUsage) (policy.LoadPolicy, []string) {
	t.Helper()
	document, errs := s.Preset()
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	text, err := yaml.Marshal(document.Object)
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
	var notes []string
	for _, note := range document.Notes {
		notes = append(notes, note.Field+": "+note.Text)
	}
	return file.Load, notes
}

// Both plugins score only by their recorded series, with scores spread over the nodes of a pod.
func TestRealUsagePreset(t *testing.T) {
	for metric, s := range map[usage.Metric]presets.RealUsage{
		usage.Memory: {PrometheusURL: "http://p:9090", TimeoutSeconds: 10, IntervalSeconds: 10},
		usage.CPU:    {CPU: true, PrometheusURL: "https://p/prefix", TimeoutSeconds: 3, IntervalSeconds: 60},
	} {
		t.Run(string(metric), func(t *testing.T) {
			got, notes := loadRealUsage(t, s)
			asked := got.Usage.Sources[0].Config.(*prometheus.Config)
			query := asked.Queries.Nodes[metric]
			if len(got.Usage.Sources) != 1 || asked.Address != s.PrometheusURL || asked.NodeLabel != "node" || query.Unit != source.Percent {
				t.Errorf("source %+v", asked)
			}
			want := map[usage.Metric]string{usage.Memory: "node_mem_usage_avg_5m", usage.CPU: "node_cpu_usage_avg_5m"}[metric]
			if expression := query.Windows[usage.Avg5m]; expression != want || query.Expr != "" {
				t.Errorf("query %+v, want %q", query, want)
			}
			measured := got.Scoring.Measured
			if measured == nil || measured.Formula != policy.FormulaMinMax || len(measured.Terms) != 1 || measured.Terms[0].Metric != metric || len(measured.Limits) > 0 {
				t.Errorf("scoring %+v", measured)
			}
			if len(got.Lines) != 1 {
				t.Errorf("lines %+v, want those of %s alone, or the other has to be known too", got.Lines, metric)
			}
			if seconds := time.Second; got.Usage.Timeout.Duration != time.Duration(s.TimeoutSeconds)*seconds || got.Usage.SampleInterval.Duration != time.Duration(s.IntervalSeconds)*seconds {
				t.Errorf("timeout %v, interval %v", got.Usage.Timeout, got.Usage.SampleInterval)
			}
			if len(notes) != 2 {
				t.Errorf("notes %q, want two", notes)
			}
		})
	}
}

// A number of seconds that policies do not allow becomes the nearest allowed one, with a note, so
// the policy is always valid.
func TestRealUsagePresetKeepsWithinBounds(t *testing.T) {
	for _, seconds := range []int{1, 4, 5, 30, 299, 300, 301, 3600, 1 << 40} {
		s := presets.RealUsage{PrometheusURL: "http://p", TimeoutSeconds: seconds, IntervalSeconds: seconds}
		got, notes := loadRealUsage(t, s)
		want := time.Duration(min(max(seconds, 5), 300)) * time.Second
		if got.Usage.SampleInterval.Duration != want {
			t.Errorf("%d seconds: interval %v, want %v", seconds, got.Usage.SampleInterval.Duration, want)
		}
		if told := strings.Contains(strings.Join(notes, "\n"), "queryMetricIntervalSeconds"); told == (seconds >= 5 && seconds <= 300) {
			t.Errorf("%d seconds: notes %q", seconds, notes)
		}
	}
}

// Invalid settings are reported by name.
func TestRealUsagePresetRefuses(t *testing.T) {
	good := presets.RealUsage{PrometheusURL: "http://p", TimeoutSeconds: 10, IntervalSeconds: 10}
	for name, tc := range map[string]struct {
		change func(*presets.RealUsage)
		want   string
	}{
		"no address":          {func(s *presets.RealUsage) { s.PrometheusURL = "" }, "prometheusApiAddr: Required value"},
		"only a host":         {func(s *presets.RealUsage) { s.PrometheusURL = "p:9090" }, `prometheusApiAddr: Invalid value: "p:9090"`},
		"a query":             {func(s *presets.RealUsage) { s.PrometheusURL = "http://p?x=1" }, "without user, query and fragment"},
		"a password":          {func(s *presets.RealUsage) { s.PrometheusURL = "http://u:pw@p" }, `"...@p"`},
		"no time":             {func(s *presets.RealUsage) { s.TimeoutSeconds = 0 }, "queryMetricTimeSeconds: Invalid value: 0"},
		"a negative interval": {func(s *presets.RealUsage) { s.IntervalSeconds = -5 }, "queryMetricIntervalSeconds: Invalid value: -5"},
	} {
		t.Run(name, func(t *testing.T) {
			s := good
			tc.change(&s)
			document, errs := s.Preset()
			if len(errs) != 1 || !strings.Contains(errs.ToAggregate().Error(), tc.want) {
				t.Errorf("got %v, want %q", errs, tc.want)
			}
			if document.Object != nil {
				t.Error("there is a policy all the same")
			}
		})
	}
}
