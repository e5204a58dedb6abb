package thresholds

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

// A window that the source computed counts as many samples as it is made of. A window computed here
// has to be observed often enough. The window with the shortest source span decides.
func TestClassifyVouched(t *testing.T) {
	given := func(v int64, mean, median time.Duration) seen {
		return seen{last: v, avg: v, sourceSpan: mean, medianSpan: median}
	}
	whole := usage.Avg5m.Over
	cases := map[string]struct {
		seen     []seen
		windows  []usage.Window
		interval time.Duration
		samples  int
		want     []State
	}{
		"the source gives both windows: hot at the first reading": {
			seen: []seen{given(700, whole, whole)},
			want: []State{Hot},
		},
		"at the line it is not": {
			seen: []seen{given(650, whole, whole), given(651, whole, whole)},
			want: []State{Warm, Hot},
		},
		"one window is summed up here: that has to be seen": {
			seen: []seen{given(700, whole, 0), given(700, whole, 0), given(700, whole, 0)},
			want: []State{Warm, Warm, Hot},
		},
		"a window that no line judges does not matter": {
			seen:    []seen{given(700, whole, 0)},
			windows: []usage.Window{usage.Avg5m},
			want:    []State{Hot},
		},
		"the last value vouches for nothing": {
			seen:    []seen{given(700, whole, whole), given(700, whole, whole), given(700, whole, whole)},
			windows: []usage.Window{usage.Last, usage.Avg5m},
			want:    []State{Warm, Warm, Hot},
		},
		"a short window of the source counts as as many samples as fit": {
			// 15 s each: two samples with the reading itself, then four
			seen: []seen{given(700, interval, interval), given(700, interval, interval)},
			want: []State{Warm, Hot},
		},
		"five minutes are not enough for thirty samples": {
			seen:    []seen{given(700, whole, whole), given(700, whole, whole)},
			samples: 30,
			want:    []State{Warm, Hot}, // at 21 and 42 samples
		},
		"a repeated reading adds no source span": {
			seen:    []seen{given(700, whole, whole), {last: 700, avg: 700, sourceSpan: whole, medianSpan: whole, again: true}},
			samples: 30,
			want:    []State{Warm, Warm},
		},
		"one reading below starts the count anew": {
			seen:    []seen{given(700, whole, whole), given(600, whole, whole), given(700, whole, whole)},
			samples: 30,
			want:    []State{Warm, Warm, Warm},
		},
		"without an interval there is no source span": {
			seen:     []seen{given(700, whole, whole), given(700, whole, whole), given(700, whole, whole)},
			interval: -1,
			want:     []State{Warm, Warm, Hot},
		},
		"unknown is unknown, whatever the source span": {
			seen: []seen{{last: 700, avg: 700, sourceSpan: whole, medianSpan: whole, unknown: reasons.UsageStale}},
			want: []State{Unknown},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.windows == nil {
				tc.windows = []usage.Window{usage.Avg5m, median5m}
			}
			rule := HotRule{ConsecutiveSamples: max(tc.samples, 3), SampleInterval: interval}
			if tc.interval != 0 {
				rule.SampleInterval = tc.interval
			}
			got := statesOver(timeline(tc.seen), judge(t, rulesOf(usage.CPU, tc.windows...)...), rule)
			if diff := cmp.Diff(tc.want, only(got, stateOf)); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
		})
	}
}
