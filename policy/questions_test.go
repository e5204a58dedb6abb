package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/annotations"
	"github.com/evenkeel/evenkeel/policy/check"
)

func TestSourcesInheritFromUsage(t *testing.T) {
	u := Default(known).Usage // maxAge 90s, timeout 10s
	cases := map[string]struct {
		source              Source
		wantAge, wantPeriod time.Duration
	}{
		"nothing said": {source: NewSource("Kubelet", known), wantAge: 90 * time.Second, wantPeriod: 10 * time.Second},
		"annotations expire by their own periods": {source: NewSource("Annotations", known), wantAge: 0, wantPeriod: 10 * time.Second},
		"said": {
			source:  Source{Config: new(annotations.Config), MaxAge: duration(time.Hour), Timeout: duration(time.Second)},
			wantAge: time.Hour, wantPeriod: time.Second,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := u.MaxAgeOf(&tc.source); got != tc.wantAge {
				t.Errorf("MaxAgeOf = %v, want %v", got, tc.wantAge)
			}
			if got := u.TimeoutOf(&tc.source); got != tc.wantPeriod {
				t.Errorf("TimeoutOf = %v, want %v", got, tc.wantPeriod)
			}
		})
	}
}

func TestWhatAMetricMeans(t *testing.T) {
	u := Usage{Metrics: []Metric{
		{Name: "disk.free", LowerIsWorse: true, Relieves: usage.Memory},
		{Name: usage.IOPressure, Relieves: usage.CPU},
		{Name: usage.CPUPressure},
	}}
	type meaning struct {
		LowerIsWorse bool
		Relieves     usage.Metric
	}
	cases := map[usage.Metric]meaning{
		usage.CPU:            {Relieves: usage.CPU},
		usage.Memory:         {Relieves: usage.Memory},
		MemoryAvailable:      {LowerIsWorse: true, Relieves: usage.Memory},
		usage.CPUPressure:    {Relieves: usage.CPU}, // listed, but without relieves
		usage.MemoryPressure: {Relieves: usage.Memory},
		usage.IOPressure:     {Relieves: usage.CPU},
		"disk.free":          {LowerIsWorse: true, Relieves: usage.Memory},
		"disk.unknown":       {},
	}
	for name, want := range cases {
		if got := (meaning{u.LowerIsWorse(name), u.Relieves(name)}); got != want {
			t.Errorf("%s is %+v, want %+v", name, got, want)
		}
	}
}

func TestLevelsOfAWindowFallBackToTheMetrics(t *testing.T) {
	lines := MetricLines{
		Levels:  levels(45, 60, 65, 60),
		Windows: map[usage.Window]Levels{mustWindow("max_avg_1h"): {Reject: new(75.0), Evict: new(75.0)}},
	}
	if diff := cmp.Diff(levels(45, 75, 75, 60), lines.In(mustWindow("max_avg_1h"))); diff != "" {
		t.Errorf("levels of a window with its own levels (-want +got):\n%s", diff)
	}
	got := lines.In(usage.Avg5m)
	if diff := cmp.Diff(levels(45, 60, 65, 60), got); diff != "" {
		t.Errorf("levels of another (-want +got):\n%s", diff)
	}
	*got.Low = 0
	if *lines.Low != 45 {
		t.Error("a change to the levels of a window shows in the metric's own")
	}
}

func TestZonesOfStamps(t *testing.T) {
	cases := map[string]string{
		"":              "<nil>",
		"Local":         "<nil>",
		"Asia/Atlantis": "<nil>",
		"../etc/passwd": "<nil>",
		"UTC":           "UTC",
		"Asia/Shanghai": "Asia/Shanghai",
	}
	for name, want := range cases {
		got := "<nil>"
		if zone := check.Location(name); zone != nil {
			got = zone.String()
		}
		if got != want {
			t.Errorf("zone %q is %s, want %s", name, got, want)
		}
	}
	if a := Default(known).NodeSync.Annotations; a.Location() != time.UTC {
		t.Errorf("the default zone is %v, want UTC", a.Location())
	}
}
