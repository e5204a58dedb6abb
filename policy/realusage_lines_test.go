package policy

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/descheduler/pkg/api"
)

// The LoadPolicy's CPU lines are low 45, reject 60, leave 60, evict 65 and the
// least gap is 3.
func TestRealUsageLines(t *testing.T) {
	cpu := func(percent float64) api.ResourceThresholds {
		return api.ResourceThresholds{v1.ResourceCPU: api.Percentage(percent)}
	}
	cases := map[string]struct {
		args RealUsageLowNodeUtilizationArgs
		mean map[v1.ResourceName]float64
		want ResourceLines
		err  string
	}{
		"no arguments": {
			want: ResourceLines{Low: 45, Reject: 60, Evict: 65, Leave: 60},
		},
		"upstream's usual numbers": {
			args: RealUsageLowNodeUtilizationArgs{Thresholds: cpu(20), TargetThresholds: cpu(50)},
			// reject: 50 - 3; leave: 5 below evict, as before.
			want: ResourceLines{Low: 20, Reject: 47, Evict: 50, Leave: 45},
		},
		"a higher evict line leaves the scheduler's line where it is": {
			args: RealUsageLowNodeUtilizationArgs{TargetThresholds: cpu(90)},
			want: ResourceLines{Low: 45, Reject: 60, Evict: 90, Leave: 85},
		},
		"a leave line that came down to the low line rests half way": {
			args: RealUsageLowNodeUtilizationArgs{TargetThresholds: cpu(50)},
			// leave: 60 - 15 = 45 is not above low, so (45 + 50) / 2.
			want: ResourceLines{Low: 45, Reject: 47, Evict: 50, Leave: 47.5},
		},
		"a low line above the reject line": {
			args: RealUsageLowNodeUtilizationArgs{Thresholds: cpu(62)},
			err:  "RealUsageLowNodeUtilization: lines[cpu].low: Invalid value: 62: must be below the reject line (60)",
		},
		"an evict line below the low line": {
			args: RealUsageLowNodeUtilizationArgs{TargetThresholds: cpu(40)},
			err:  "RealUsageLowNodeUtilization: lines[cpu].low: Invalid value: 45: must be below the reject line (37)",
		},
		"a resource the LoadPolicy does not judge": {
			args: RealUsageLowNodeUtilizationArgs{Thresholds: api.ResourceThresholds{v1.ResourceMemory: 20}},
			err:  `RealUsageLowNodeUtilization: thresholds[memory]: Unsupported value: "memory": supported values: "cpu"`,
		},
		"deviations around the mean": {
			args: RealUsageLowNodeUtilizationArgs{UseDeviationThresholds: true, Thresholds: cpu(10), TargetThresholds: cpu(15)},
			mean: map[v1.ResourceName]float64{v1.ResourceCPU: 40},
			// low: 40 - 10; evict: 40 + 15; reject: 55 - 3; leave: 55 - 5.
			want: ResourceLines{Low: 30, Reject: 52, Evict: 55, Leave: 50},
		},
		"deviations in a cluster that is full": {
			args: RealUsageLowNodeUtilizationArgs{UseDeviationThresholds: true, Thresholds: cpu(10), TargetThresholds: cpu(15)},
			mean: map[v1.ResourceName]float64{v1.ResourceCPU: 90},
			// evict: at most 100; reject: not above the LoadPolicy's; low: 80
			// would be above it, so 3 below.
			want: ResourceLines{Low: 57, Reject: 60, Evict: 100, Leave: 95},
		},
		"deviations in a cluster that idles": {
			args: RealUsageLowNodeUtilizationArgs{UseDeviationThresholds: true, Thresholds: cpu(10), TargetThresholds: cpu(2)},
			mean: map[v1.ResourceName]float64{v1.ResourceCPU: 1},
			// evict: 3 is held up at twice the gap; leave: 6 - 5.
			want: ResourceLines{Low: 0, Reject: 3, Evict: 6, Leave: 1},
		},
		"a deviation on one side only": {
			args: RealUsageLowNodeUtilizationArgs{UseDeviationThresholds: true, Thresholds: cpu(10)},
			mean: map[v1.ResourceName]float64{v1.ResourceCPU: 40},
			want: ResourceLines{Low: 30, Reject: 60, Evict: 65, Leave: 60},
		},
		"deviations without a mean": {
			args: RealUsageLowNodeUtilizationArgs{UseDeviationThresholds: true, Thresholds: cpu(10)},
			err:  "RealUsageLowNodeUtilization: resolving deviation thresholds: no mean usage of cpu",
		},
		"deviations from a mean that is no number": {
			args: RealUsageLowNodeUtilizationArgs{UseDeviationThresholds: true, Thresholds: cpu(10)},
			mean: map[v1.ResourceName]float64{v1.ResourceCPU: math.NaN()},
			err:  "RealUsageLowNodeUtilization: resolving deviation thresholds: no mean usage of cpu",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			load := Default()
			delete(load.Lines, v1.ResourceMemory)
			got, err := tc.args.Lines(&load, tc.mean)
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Fatalf("error %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Lines{v1.ResourceCPU: tc.want}, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzRealUsageLines verifies that arguments which pass their validator give
// lines that hold the LoadPolicy's rules or an error, never lines that break
// them; and that deviations never give an error, whatever the mean.
func FuzzRealUsageLines(f *testing.F) {
	f.Add(10.0, 15.0, 40.0, 3.0, true)
	f.Add(100.0, 0.0, 0.0, 50.0, true)
	f.Add(20.0, 50.0, 0.0, 1.0, false)
	f.Fuzz(func(t *testing.T, low, evict, mean, gap float64, deviation bool) {
		load := Default()
		load.MinGapPercent = gap
		load.Lines = Lines{v1.ResourceCPU: {Low: 10, Reject: 40, Evict: 95, Leave: 90}}
		args := RealUsageLowNodeUtilizationArgs{
			UseDeviationThresholds: deviation,
			Thresholds:             api.ResourceThresholds{v1.ResourceCPU: api.Percentage(low)},
			TargetThresholds:       api.ResourceThresholds{v1.ResourceCPU: api.Percentage(evict)},
		}
		if len(Validate(&load)) > 0 || ValidateRealUsageLowNodeUtilizationArgs(&args) != nil || !(mean >= 0 && mean <= 1000) {
			return // not what a policy or a cluster can hold
		}
		lines, err := args.Lines(&load, map[v1.ResourceName]float64{v1.ResourceCPU: mean})
		if err != nil {
			if deviation {
				t.Fatal(err)
			}
			return
		}
		load.Lines = lines
		if errs := Validate(&load); len(errs) > 0 {
			t.Fatalf("lines %+v: %v", lines, errs)
		}
	})
}
