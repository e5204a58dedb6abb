package exporters

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// If a summary omits pods, their usage still counts for their node, in addition to the system's
// usage. The truth that other readers get remains complete.
func TestSummariesLeaveOutHiddenPods(t *testing.T) {
	pod := func(name string, cpu int64) cluster.PodTruth {
		return cluster.PodTruth{Name: name, Used: cluster.Amounts{CPUMilli: cpu}}
	}
	truth := cluster.NodeTruth{Name: "n1", Used: cluster.Amounts{CPUMilli: 700, MemoryBytes: 50}, Pods: []cluster.PodTruth{pod("a", 100), pod("b", 600)}}
	config := KubeletsConfig{
		Hidden: func(pod cluster.PodTruth) bool { return pod.Name == "a" },
		System: map[string]cluster.Amounts{"n1": {CPUMilli: 300, MemoryBytes: 10}},
	}
	want := cluster.NodeTruth{Name: "n1", Used: cluster.Amounts{CPUMilli: 1000, MemoryBytes: 60}, Pods: []cluster.PodTruth{pod("b", 600)}}
	if diff := cmp.Diff(want, config.seen(truth)); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
	if truth.Pods[0].Name != "a" || truth.Pods[1].Name != "b" {
		t.Errorf("the truth has changed: %v", truth.Pods)
	}
}
