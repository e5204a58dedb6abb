package settings

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer/nodesync"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// viewAt returns a view of one known node with 10 cores and 100 bytes, with the given percentages
// used in the windows of the default policy's lines.
func viewAt(cpu, memory int64, labels map[string]string) *usage.View {
	used := cluster.Amounts{cluster.CPU: cpu * 100, cluster.Memory: memory}
	all := []cluster.Amounts{used, used, used}
	return &usage.View{
		Windows: []usage.Window{usage.Last, usage.Avg5m, {Kind: usage.KindQuantile, Percentile: 50, Over: usage.Avg5m.Over}},
		Snapshot: &cluster.Snapshot{Nodes: []*cluster.NodePods{{Node: cluster.Node{
			Name: "n", Labels: labels, Allocatable: cluster.Amounts{cluster.CPU: 10_000, cluster.Memory: 100},
		}}}},
		Nodes: []usage.NodeUsage{{Current: all, Predicted: all, Measured: all}},
	}
}

func TestLinesAreOneSetForBothHalves(t *testing.T) {
	inf := math.Inf(1)
	none := thresholds.Levels{Low: inf, Reject: inf, Evict: inf, Leave: inf}
	shippedCPU := thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}
	shippedMemory := thresholds.Levels{Low: 60, Reject: 75, Evict: 80, Leave: 75}
	cases := map[string]struct {
		change      func(*policy.LoadPolicy)
		args        []policy.Strategy
		cpu, memory thresholds.Levels
		wantErr     bool
	}{
		"the LoadPolicy's without arguments": {cpu: shippedCPU, memory: shippedMemory},
		"a metric without lines is never judged": {
			change: func(p *policy.LoadPolicy) { delete(p.Lines, usage.Memory) },
			cpu:    shippedCPU, memory: none,
		},
		"thresholds move the evict line and push the reject line down": {
			args: []policy.Strategy{&realusage.Args{
				Thresholds: api.ResourceThresholds{"cpu": 20}, TargetThresholds: api.ResourceThresholds{"cpu": 50},
			}},
			cpu: thresholds.Levels{Low: 20, Reject: 47, Evict: 50, Leave: 45}, memory: shippedMemory,
		},
		"deviation thresholds lie around the mean usage of 40 %": {
			args: []policy.Strategy{&realusage.Args{
				UseDeviationThresholds: true,
				Thresholds:             api.ResourceThresholds{"cpu": 10}, TargetThresholds: api.ResourceThresholds{"cpu": 10},
			}},
			cpu: thresholds.Levels{Low: 30, Reject: 47, Evict: 50, Leave: 45}, memory: shippedMemory,
		},
		"a pool with lines of its own": {
			change: func(p *policy.LoadPolicy) {
				level := 90.0
				pool := policy.NodePool{
					Name: "batch", Selector: metav1.LabelSelector{MatchLabels: map[string]string{"pool": "batch"}},
					Lines: policy.Lines{usage.CPU: {Levels: policy.Levels{Evict: &level}}},
				}
				p.NodePools = []policy.NodePool{pool}
			},
			cpu: thresholds.Levels{Low: inf, Reject: inf, Evict: 90, Leave: inf}, memory: none,
		},
		"two profiles with different thresholds are refused": {
			args: []policy.Strategy{
				&realusage.Args{TargetThresholds: api.ResourceThresholds{"cpu": 50}}, &realusage.Args{TargetThresholds: api.ResourceThresholds{"cpu": 55}},
			},
			wantErr: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			load := policy.Default(kinds.All)
			if tc.change != nil {
				tc.change(&load)
			}
			set, err := Lines(&load, tc.args)
			if (err != nil) != tc.wantErr {
				t.Fatalf("error %v, want one: %v", err, tc.wantErr)
			}
			if err != nil {
				return
			}
			resolved := set.Resolve(viewAt(40, 40, map[string]string{"pool": "batch"}))
			for metric, want := range map[usage.Metric]thresholds.Levels{usage.CPU: tc.cpu, usage.Memory: tc.memory} {
				got, _ := resolved.Of(0, metric, usage.Avg5m)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("lines of %s (-want +got):\n%s", metric, diff)
				}
			}
		})
	}
}

// None of Evenkeel's own taints counts as a sign that a node is leaving, and each taint in the
// policy is one of nodesync's.
func TestOwnTaints(t *testing.T) {
	load := policy.Default(kinds.All)
	load.Eviction.ClosingTaints = []string{"evenkeel.io/*"}
	load.NodeSync.RejectTaint.Enabled, load.NodeSync.RejectTaint.Key = true, "evenkeel.io/full"
	config, err := Observing(&load, nil)
	if err != nil {
		t.Fatal(err)
	}
	node := cluster.Node{Ready: true, Schedulable: true, Taints: []string{"evenkeel.io/hot", "evenkeel.io/full"}}
	if config.Taints.Apply(&node); node.Closed() != "" {
		t.Errorf("closed: %s", node.Closed())
	}
	want := nodesync.Mark{Enabled: true, Key: "evenkeel.io/full", Value: "true"}
	if diff := cmp.Diff(want, NodeSync(&load.NodeSync).RejectTaint); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
