package scorer

import (
	"testing"
	"unsafe"

	"github.com/evenkeel/evenkeel/cluster"
)

// TestGaugeFillsACacheLine verifies that a gauge shares its cache line with nothing.
func TestGaugeFillsACacheLine(t *testing.T) {
	if size := unsafe.Sizeof(gauge{}); size != 64 {
		t.Errorf("a gauge is %d bytes, want 64", size)
	}
}

func TestGauge(t *testing.T) {
	cases := map[string]struct {
		unknown   bool
		adjust    cluster.Amounts
		pod       cluster.Amounts
		wantTakes bool
		wantLoad  float64
	}{
		// cpu (5000+1000)/10000, memory (20+10)/100: (60 + (60+30)/2) / 2
		"room for both":        {pod: cluster.Amounts{1000, 10}, wantTakes: true, wantLoad: 52.5},
		"exactly at the line":  {pod: cluster.Amounts{1500, 40}, wantTakes: true, wantLoad: 63.75},
		"cpu over":             {pod: cluster.Amounts{1501, 0}, wantLoad: 53.7575},
		"memory over":          {pod: cluster.Amounts{0, 41}, wantLoad: 58.25},
		"bound since":          {adjust: cluster.Amounts{1000, 0}, pod: cluster.Amounts{501, 0}, wantLoad: 53.7575},
		"gone since":           {adjust: cluster.Amounts{-5000, -20}, wantTakes: true},
		"unknown takes all":    {unknown: true, pod: cluster.Amounts{9999, 999}, wantTakes: true, wantLoad: 801.7475},
		"less than is nothing": {adjust: cluster.Amounts{-9000, -20}, wantTakes: true, wantLoad: -10},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var g gauge
			g.set(cluster.Amounts{5000, 20}, cluster.Amounts{6500, 60}, cluster.Amounts{10_000, 100}, !tc.unknown)
			for r := range tc.adjust {
				g.used[r].Add(tc.adjust[r])
			}
			if got := g.takes(tc.pod[cluster.CPU], tc.pod[cluster.Memory]); got != tc.wantTakes {
				t.Errorf("accepts the pod: %t, want %t", got, tc.wantTakes)
			}
			load, under := g.load(tc.pod[cluster.CPU], tc.pod[cluster.Memory], 0.5, 0.5)
			if diff := load - tc.wantLoad; diff > 1e-9 || diff < -1e-9 {
				t.Errorf("the load is %g, want %g", load, tc.wantLoad)
			}
			if !tc.unknown && under != tc.wantTakes {
				t.Errorf("under the line: %t, want %t", under, tc.wantTakes)
			}
		})
	}
}
