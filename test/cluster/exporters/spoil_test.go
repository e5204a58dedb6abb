package exporters

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/test/cluster/fault"
)

func TestSpoilSummary(t *testing.T) {
	const truth = `{"node":{"cpu":{"usageCoreNanoSeconds":7,"usageNanoCores":400}},"pods":[{"memory":{"workingSetBytes":50}}]}`
	tests := map[string]struct {
		fault fault.Fault
		place int
		want  string
	}{
		"no fault": {want: truth},
		"values are missing, totals are not": {
			fault: fault.OfKind(fault.Missing),
			want:  `{"node":{"cpu":{"usageCoreNanoSeconds":7}},"pods":[{"memory":{}}]}`,
		},
		"the second node keeps its values when half are missing": {
			fault: fault.OfKind(fault.HalfMissing), place: 1, want: truth,
		},
		"no numbers": {
			fault: fault.OfKind(fault.NaN),
			want:  `{"node":{"cpu":{"usageCoreNanoSeconds":7,"usageNanoCores":NaN}},"pods":[{"memory":{"workingSetBytes":NaN}}]}`,
		},
		"negative": {
			fault: fault.OfKind(fault.Negative),
			want:  `{"node":{"cpu":{"usageCoreNanoSeconds":7,"usageNanoCores":-1}},"pods":[{"memory":{"workingSetBytes":-1}}]}`,
		},
		"ten times the truth": {
			fault: fault.OfKind(fault.Tenfold),
			want:  `{"node":{"cpu":{"usageCoreNanoSeconds":7,"usageNanoCores":4000}},"pods":[{"memory":{"workingSetBytes":500}}]}`,
		},
		"each pod twice": {
			fault: fault.OfKind(fault.Duplicate),
			want: `{"node":{"cpu":{"usageCoreNanoSeconds":7,"usageNanoCores":400}},` +
				`"pods":[{"memory":{"workingSetBytes":50}},{"memory":{"workingSetBytes":50}}]}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := spoilSummary([]byte(truth), tc.fault, tc.place)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("summary (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpoilLine(t *testing.T) {
	tests := map[string]struct {
		fault fault.Fault
		want  string
	}{
		"no fault":       {want: `node_cpu{a="b c"} 40`},
		"missing":        {fault: fault.OfKind(fault.Missing), want: ""},
		"no number":      {fault: fault.OfKind(fault.NaN), want: `node_cpu{a="b c"} NaN`},
		"a hundredth":    {fault: fault.OfKind(fault.Hundredth), want: `node_cpu{a="b c"} 0.4`},
		"twice, at half": {fault: fault.OfKind(fault.Duplicate), want: "node_cpu{a=\"b c\"} 40\nnode_cpu{a=\"b c\"} 20"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := string(spoilLine([]byte(`node_cpu{a="b c"} 40`), tc.fault)); got != tc.want {
				t.Errorf("line %q, want %q", got, tc.want)
			}
		})
	}
}

func TestStatisticsText(t *testing.T) {
	values := map[string]float64{"mem_usage_active": 50, "cpu_usage_active": 12.5}
	tests := map[string]struct {
		fault fault.Fault
		want  string
	}{
		"no fault":    {want: `{"cpu_usage_active":12.5,"mem_usage_active":50}`},
		"no numbers":  {fault: fault.OfKind(fault.NaN), want: `{"cpu_usage_active":NaN,"mem_usage_active":NaN}`},
		"a hundredth": {fault: fault.OfKind(fault.Hundredth), want: `{"cpu_usage_active":0.125,"mem_usage_active":0.5}`},
		"each name twice": {
			fault: fault.OfKind(fault.Duplicate),
			want:  `{"cpu_usage_active":12.5,"cpu_usage_active":6.25,"mem_usage_active":50,"mem_usage_active":25}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := statisticsText(values, tc.fault); got != tc.want {
				t.Errorf("statistics %s, want %s", got, tc.want)
			}
		})
	}
}

func TestAnnotationText(t *testing.T) {
	tests := map[string]struct {
		unit  Unit
		fault fault.Fault
		want  string
	}{
		"a fraction has five decimals":     {unit: Fraction, want: "0.96562"},
		"a percentage has one":             {unit: Percent, want: "96.6"},
		"a fraction that claims a percent": {unit: Percent, fault: fault.OfKind(fault.Hundredth), want: "1.0"},
		"970 percent":                      {unit: Fraction, fault: fault.OfKind(fault.Tenfold), want: "9.65625"},
		"negative":                         {unit: Fraction, fault: fault.OfKind(fault.Negative), want: "-1.00000"},
		"no number":                        {unit: Percent, fault: fault.OfKind(fault.NaN), want: "NaN"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			a := &Annotator{config: AnnotatorConfig{Unit: tc.unit}}
			if got := a.text(96.5625, tc.fault); got != tc.want {
				t.Errorf("text %q, want %q", got, tc.want)
			}
		})
	}
}

// A node counts as having had its first usage for the past five minutes. A minute at twice that
// usage raises the mean by a fifth, and the maximum at once.
func TestWindowsRememberThePast(t *testing.T) {
	r := &recorder{loads: map[string][]load{}}
	steps := func(d time.Duration) int { return int(d / sampleEvery) }
	for range steps(5 * time.Minute) {
		r.loads["n"] = append(r.loads["n"], load{cpu: 40, memory: 10})
	}
	for range steps(time.Minute) {
		r.loads["n"] = append(r.loads["n"], load{cpu: 80, memory: 10})
	}
	got, known := r.of("n")
	// 4 minutes at 40 and 1 at 80
	want := windows{active: load{80, 10}, avg5m: load{48, 10}, max1h: load{80, 10}, max1d: load{80, 10}}
	if !known || got != want {
		t.Errorf("windows %+v, want %+v", got, want)
	}
	if _, known := r.of("m"); known {
		t.Error("a node that was never seen has windows")
	}
}
