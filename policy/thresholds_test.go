package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// The LoadPolicy has the CPU lines low 45, reject 60, leave 60 and evict 65. The minimum gap is 3.
func TestOverlayOfThresholds(t *testing.T) {
	cpu := func(percent float64) api.ResourceThresholds {
		return api.ResourceThresholds{v1.ResourceCPU: api.Percentage(percent)}
	}
	deviation := func(l Levels) MetricLines { return MetricLines{Levels: l, Deviation: true} }
	absolute := MetricLines{Levels: levels(45, 60, 65, 60)}
	cases := map[string]struct {
		args Thresholds
		base MetricLines
		want MetricLines
		err  string
	}{
		"no arguments": {
			base: absolute,
			want: absolute,
		},
		"upstream's usual numbers": {
			args: Thresholds{Low: cpu(20), Target: cpu(50)},
			base: absolute,
			// reject is 50 - 3; leave is 5 below evict, as before
			want: MetricLines{Levels: levels(20, 47, 50, 45)},
		},
		"a higher evict line leaves the scheduler's line where it is": {
			args: Thresholds{Target: cpu(90)},
			base: absolute,
			want: MetricLines{Levels: levels(45, 60, 90, 85)},
		},
		"a leave line that would fall to the low line stops half way": {
			args: Thresholds{Target: cpu(50)},
			base: absolute,
			// leave would be 60 - 15 = 45, which is not above low, so it is (45 + 50) / 2
			want: MetricLines{Levels: levels(45, 47, 50, 47.5)},
		},
		"windows keep their own levels": {
			args: Thresholds{Low: cpu(20)},
			base: MetricLines{Levels: absolute.Levels, Windows: map[usage.Window]Levels{mustWindow("max_avg_1h"): {Evict: new(90.0)}}},
			want: MetricLines{Levels: levels(20, 60, 65, 60), Windows: map[usage.Window]Levels{mustWindow("max_avg_1h"): {Evict: new(90.0)}}},
		},
		"an evict line below what a window rejects at": {
			args: Thresholds{Target: cpu(60)},
			base: MetricLines{Levels: absolute.Levels, Windows: map[usage.Window]Levels{mustWindow("max_avg_1h"): {Reject: new(62.0)}}},
			err:  "RealUsageLowNodeUtilization: targetThresholds[cpu]: Invalid value: 60: with it, lines[cpu].windows[max_avg_1h].reject: Invalid value: 62: must be below the evict line (60) or at it",
		},
		"a low line above the reject line": {
			args: Thresholds{Low: cpu(62)},
			base: absolute,
			err:  "RealUsageLowNodeUtilization: thresholds[cpu]: Invalid value: 62: with it, lines[cpu].low: Invalid value: 62: must be below the reject line (60)",
		},
		"an evict line below the low line": {
			args: Thresholds{Target: cpu(40)},
			base: absolute,
			err:  "RealUsageLowNodeUtilization: targetThresholds[cpu]: Invalid value: 40: with it, lines[cpu].low: Invalid value: 45: must be below the reject line (37)",
		},
		"a resource the LoadPolicy does not judge": {
			args: Thresholds{Low: api.ResourceThresholds{v1.ResourceMemory: 20}},
			base: absolute,
			err:  `RealUsageLowNodeUtilization: thresholds[memory]: Unsupported value: "memory": supported values: "cpu"`,
		},
		"deviations take the place of levels": {
			args: Thresholds{Deviation: true, Low: cpu(8), Target: cpu(20)},
			base: absolute,
			// reject is 20 - 3; leave is 5 below evict, as in the default distances
			want: deviation(levels(8, 17, 20, 15)),
		},
		"a deviation on one side only has the default on the other": {
			args: Thresholds{Deviation: true, Low: cpu(8)},
			base: absolute,
			// reject is 15 - 3
			want: deviation(levels(8, 12, 15, 10)),
		},
		"a deviation so small that leaving is at the mean": {
			args: Thresholds{Deviation: true, Target: cpu(4)},
			base: absolute,
			want: deviation(levels(10, 1, 4, 0)),
		},
		"a deviation smaller than the gap": {
			args: Thresholds{Deviation: true, Target: cpu(2)},
			base: absolute,
			err:  "RealUsageLowNodeUtilization: targetThresholds[cpu]: Invalid value: 2: with it, lines[cpu].reject: Invalid value: 0: must be at least 3 points below the evict line (2)",
		},
		"deviations over deviations never raise the reject line": {
			args: Thresholds{Deviation: true, Target: cpu(30)},
			base: deviation(levels(10, 9, 15, 10)),
			want: deviation(levels(10, 9, 30, 25)),
		},
		"levels take the place of deviations and drop windows of distances": {
			args: Thresholds{Target: cpu(70)},
			base: MetricLines{Levels: levels(10, 9, 15, 10), Deviation: true, Windows: map[usage.Window]Levels{mustWindow("max_avg_1h"): {Evict: new(20.0)}}},
			want: MetricLines{Levels: levels(45, 60, 70, 65)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			load := Default(known)
			load.Lines = Lines{usage.CPU: tc.base.clone()}
			got, err := Overlay(&load, strategy{thresholds: tc.args})
			if diff := cmp.Diff(Lines{usage.CPU: tc.base}, load.Lines); diff != "" {
				t.Errorf("the LoadPolicy's own lines changed (-before +after):\n%s", diff)
			}
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Fatalf("error %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Lines{usage.CPU: tc.want}, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// strategy has thresholds but no other arguments.
type strategy struct {
	Strategy
	thresholds Thresholds
}

func (s strategy) Describe() StrategyDescription {
	return StrategyDescription{Name: DefaultStrategy, Thresholds: &s.thresholds}
}
