package annotations

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/observe/usage"
)

var max1h, max1d = window("max_avg_1h"), window("max_avg_1d")

func window(name string) usage.Window {
	w, _ := usage.ParseWindow(name)
	return w
}

func TestSampleReadsWhatWritersWrite(t *testing.T) {
	cases := map[string]struct {
		config Config
		given  map[string]string
		want   []usage.Reading
	}{
		"Crane in Shanghai: fractions, and a Z that lies": {
			given: map[string]string{
				"cpu_usage_avg_5m":     "0.38000,2026-11-21T19:58:00Z",
				"cpu_usage_max_avg_1h": "0.50000,2026-11-21T19:50:00Z",
				"cpu_usage_max_avg_1d": "0.60000,2026-11-21T18:00:00Z",
				"mem_usage_avg_5m":     "0.25000,2026-11-21T19:58:00Z",
				"node_hot_value":       "3,2026-11-21T19:58:00Z",
			},
			want: []usage.Reading{
				{Metric: usage.CPU, Window: usage.Avg5m, At: stamp("11:58:00"), Value: 3800},
				{Metric: usage.CPU, Window: max1d, At: stamp("10:00:00"), Value: 6000},
				{Metric: usage.CPU, Window: max1h, At: stamp("11:50:00"), Value: 5000},
				{Metric: usage.Memory, Window: usage.Avg5m, At: stamp("11:58:00"), Value: 25 * gib},
			},
		},
		"its relative: percentages": {
			given: map[string]string{
				"cpu_usage_active":     "41.0,2026-11-21T19:58:00Z",
				"cpu_usage_avg_5m":     "38.0,2026-11-21T19:58:00Z",
				"mem_usage_max_avg_1h": "0.5,2026-11-21T19:58:00Z",
			},
			want: []usage.Reading{
				{Metric: usage.CPU, Window: usage.Avg5m, At: stamp("11:58:00"), Value: 3800},
				{Metric: usage.Memory, Window: max1h, At: stamp("11:58:00"), Value: gib / 2},
			},
		},
		"a careful writer: a Z that means UTC": {
			given: map[string]string{"cpu_usage_avg_5m": "0.38000,2026-11-21T11:58:00Z"},
			want:  []usage.Reading{{Metric: usage.CPU, Window: usage.Avg5m, At: stamp("11:58:00"), Value: 3800}},
		},
		"a custom window, and whole percentages": {
			given: map[string]string{"cpu_usage_p95_1h": "38,2026-11-21T11:58:00Z"},
			want:  []usage.Reading{{Metric: usage.CPU, Window: window("p95_1h"), At: stamp("11:58:00"), Value: 3800}},
		},
		"a stated location": {
			config: Config{Timezone: "Etc/GMT+5"},
			given:  map[string]string{"cpu_usage_avg_5m": "0.38000,2026-11-21T06:58:00Z"},
			want:   []usage.Reading{{Metric: usage.CPU, Window: usage.Avg5m, At: stamp("11:58:00"), Value: 3800}},
		},
		"a stated unit": {
			config: Config{Unit: Fraction},
			given:  map[string]string{"cpu_usage_avg_5m": "0.38,2026-11-21T11:58:00Z"},
			want:   []usage.Reading{{Metric: usage.CPU, Window: usage.Avg5m, At: stamp("11:58:00"), Value: 3800}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			batch := sample(t, newSource(t, tc.config), node("a", tc.given))
			good := map[time.Duration]time.Duration{ // three minutes, fifteen minutes and three hours, plus five minutes each
				5 * time.Minute: 8 * time.Minute, time.Hour: 20 * time.Minute, 24 * time.Hour: 185 * time.Minute,
			}
			for i := range tc.want {
				tc.want[i].MaxAge = good[tc.want[i].Window.Over]
			}
			want := []usage.NodeSample{{Name: "a", Readings: tc.want}}
			if diff := cmp.Diff(want, batch.Nodes, cmpopts.EquateApprox(1e-9, 0), cmpopts.EquateApproxTime(0)); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if len(batch.Problems) > 0 {
				t.Errorf("problems: %v", batch.Problems)
			}
			if batch.MaxAge != 3*time.Hour+5*time.Minute || batch.Source != Name || !batch.Received.Equal(noon) {
				t.Errorf("batch is of %q at %v, good for %v", batch.Source, batch.Received, batch.MaxAge)
			}
		})
	}
}

// A value is valid while now < stamp + period + 5m, with a period per window.
func TestFreshnessIsByPeriod(t *testing.T) {
	cases := map[string]struct {
		key   string
		age   time.Duration
		fresh bool
	}{
		"5m, just good":           {"cpu_usage_avg_5m", 8*time.Minute - time.Second, true},
		"5m, over":                {"cpu_usage_avg_5m", 8 * time.Minute, false},
		"1h, just good":           {"cpu_usage_max_avg_1h", 20*time.Minute - time.Second, true},
		"1h, over":                {"cpu_usage_max_avg_1h", 20 * time.Minute, false},
		"1d, just good":           {"cpu_usage_max_avg_1d", 185*time.Minute - time.Second, true},
		"1d, over":                {"cpu_usage_max_avg_1d", 185 * time.Minute, false},
		"unheard-of, just good":   {"cpu_usage_avg_30m", 20*time.Minute - time.Second, true},
		"unheard-of, over":        {"cpu_usage_avg_30m", 20 * time.Minute, false},
		"a minute in the future":  {"cpu_usage_avg_5m", -time.Minute, true},
		"more than that":          {"cpu_usage_avg_5m", -61 * time.Second, false},
		"five hours ahead of now": {"cpu_usage_avg_5m", -5 * time.Hour, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSource(t, Config{Timezone: "UTC"})
			batch := sample(t, s, node("a", map[string]string{tc.key: Format(38, Fraction, noon.Add(-tc.age), nil)}))
			want := map[usage.Cause]int{}
			switch {
			case tc.fresh:
			case tc.age < 0:
				want[usage.Future] = 1
			default:
				want[usage.Stale] = 1
			}
			if diff := cmp.Diff(want, counts(batch.Problems)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if got := readings(batch) == 1; got != tc.fresh {
				t.Errorf("taken: %v, want %v", got, tc.fresh)
			}
		})
	}
}

func TestTwoWritersOfDifferentUnits(t *testing.T) {
	const crane, plus = "0.38000,2026-11-21T11:58:00Z", "38.0,2026-11-21T11:58:00Z"
	cases := map[string]struct {
		crane, plus int
		config      Config
		taken       int
	}{
		"few percentages": {crane: 9, plus: 2, taken: 9},
		"few fractions":   {crane: 1, plus: 2, taken: 2},
		"half and half":   {crane: 4, plus: 4, taken: 0},
		"a stated unit accepts only its own values": {crane: 1, plus: 9, config: Config{Unit: Fraction}, taken: 1},
		"a stated unit, the other way":              {crane: 9, plus: 1, config: Config{Unit: Percent}, taken: 1},
		"one writer alone is not gainsaid":          {crane: 3, taken: 3},
		"nor is one writer of percentages ":         {plus: 3, taken: 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			nodes := alike(tc.crane, "crane", "cpu_usage_avg_5m", crane)
			nodes = append(nodes, alike(tc.plus, "plus", "cpu_usage_avg_5m", plus)...)
			batch := sample(t, newSource(t, tc.config), nodes...)
			if got := readings(batch); got != tc.taken {
				t.Errorf("taken: %d, want %d", got, tc.taken)
			}
			if got, want := batch.Problems[usage.Contradictory].Count, tc.crane+tc.plus-tc.taken; got != want {
				t.Errorf("contradictory: %d, want %d", got, want)
			}
			for _, n := range batch.Nodes {
				if got := n.Readings[0].Value; got < 3799 || got > 3801 {
					t.Errorf("%s uses %v milli-cores, want 3800", n.Name, got)
				}
			}
		})
	}
}

func TestInvalidSettings(t *testing.T) {
	period := func(w usage.Window, d time.Duration) map[usage.Window]metav1.Duration {
		return map[usage.Window]metav1.Duration{w: {Duration: d}}
	}
	cases := map[string]struct {
		config Config
		want   string
	}{
		"an unknown unit":    {Config{Unit: "permille"}, `x.unit: Unsupported value: "permille"`},
		"an unknown zone":    {Config{Unit: Auto, Timezone: "Moon/Copernicus"}, "x.timezone: Invalid value"},
		"a reach of nothing": {Config{Unit: Auto, Periods: period(usage.Window{Kind: usage.KindAvg}, time.Minute)}, "x.periods["},
		"a period of zero":   {Config{Unit: Auto, Periods: period(usage.Avg5m, 0)}, "x.periods[avg_5m]: Invalid value"},
		"a week-long period": {Config{Unit: Auto, Periods: period(usage.Avg5m, 7*24*time.Hour)}, "x.periods[avg_5m]: Invalid value"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			errs := tc.config.Validate(field.NewPath("x"), nil)
			if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tc.want) {
				t.Errorf("got %v, want %q", errs, tc.want)
			}
		})
	}
}

func TestSampleNeedsASnapshot(t *testing.T) {
	if _, err := newSource(t, Config{}).Sample(t.Context(), nil); err == nil {
		t.Error("no error without a snapshot")
	}
}

func BenchmarkSample5000Nodes(b *testing.B) {
	given := map[string]string{}
	for _, w := range []usage.Window{usage.Avg5m, max1h, max1d} {
		for _, m := range []usage.Metric{usage.CPU, usage.Memory} {
			given[Key(m, w)] = Format(38, Fraction, noon.Add(-time.Minute), shanghai)
		}
	}
	nodes := alike(5000, "n", "", "")
	for _, n := range nodes {
		n.Node.UsageAnnotations = given
	}
	s := new(Config).Default().(*Config).source(func() time.Time { return noon })
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Sample(b.Context(), snapshot(nodes...)); err != nil {
			b.Fatal(err)
		}
	}
}

func TestDefaultPeriods(t *testing.T) {
	cases := map[string]time.Duration{
		"avg_5m": 3 * time.Minute, "max_avg_1h": 15 * time.Minute, "max_avg_24h": 3 * time.Hour, "p95_7m": 15 * time.Minute, "last": 15 * time.Minute,
	}
	for name, want := range cases {
		if got := DefaultPeriod(window(name)); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
