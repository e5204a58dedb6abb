package app

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
	"github.com/evenkeel/evenkeel/usage"
)

// viewAt is a view of one known node with 10 cores and 100 bytes of which it uses the given percentages.
func viewAt(cpu, memory int64) *usage.View {
	return &usage.View{
		Snapshot: &cluster.Snapshot{Nodes: []*cluster.NodePods{{Node: cluster.Node{
			Name: "n", Allocatable: cluster.Amounts{cluster.CPU: 10_000, cluster.Memory: 100},
		}}}},
		Nodes: []usage.NodeUsage{{Current: usage.Every(cluster.Amounts{cluster.CPU: cpu * 100, cluster.Memory: memory})}},
	}
}

func TestLinesAreOneSetForBothHalves(t *testing.T) {
	inf := math.Inf(1)
	cases := map[string]struct {
		change  func(*policy.LoadPolicy)
		args    []*policy.RealUsageLowNodeUtilizationArgs
		want    plan.Lines
		wantErr bool
	}{
		"the LoadPolicy's without arguments": {
			want: plan.Lines{
				Low: cluster.Percents{45, 60}, Reject: cluster.Percents{60, 75}, Evict: cluster.Percents{65, 80}, Leave: cluster.Percents{60, 75},
			},
		},
		"a resource without lines is never judged": {
			change: func(p *policy.LoadPolicy) { delete(p.Lines, corev1.ResourceMemory) },
			want: plan.Lines{
				Low: cluster.Percents{45, inf}, Reject: cluster.Percents{60, inf}, Evict: cluster.Percents{65, inf}, Leave: cluster.Percents{60, inf},
			},
		},
		"thresholds move the evict line and push the reject line down": {
			args: []*policy.RealUsageLowNodeUtilizationArgs{{
				Thresholds: api.ResourceThresholds{"cpu": 20}, TargetThresholds: api.ResourceThresholds{"cpu": 50},
			}},
			want: plan.Lines{
				Low: cluster.Percents{20, 60}, Reject: cluster.Percents{47, 75}, Evict: cluster.Percents{50, 80}, Leave: cluster.Percents{45, 75},
			},
		},
		"deviation thresholds lie around the mean usage of 40 %": {
			args: []*policy.RealUsageLowNodeUtilizationArgs{{
				UseDeviationThresholds: true,
				Thresholds:             api.ResourceThresholds{"cpu": 10}, TargetThresholds: api.ResourceThresholds{"cpu": 10},
			}},
			want: plan.Lines{
				Low: cluster.Percents{30, 60}, Reject: cluster.Percents{47, 75}, Evict: cluster.Percents{50, 80}, Leave: cluster.Percents{45, 75},
			},
		},
		"two profiles with different thresholds are refused": {
			args: []*policy.RealUsageLowNodeUtilizationArgs{
				{TargetThresholds: api.ResourceThresholds{"cpu": 50}}, {TargetThresholds: api.ResourceThresholds{"cpu": 55}},
			},
			wantErr: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			load := policy.Default()
			if tc.change != nil {
				tc.change(&load)
			}
			lines, err := linesFor(&load, tc.args)
			if (err != nil) != tc.wantErr {
				t.Fatalf("error %v, want one: %v", err, tc.wantErr)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(tc.want, lines(viewAt(40, 40))); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}
