package exporters

import (
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// Pods read zero until a kubelet has measured them twice. Their node and their containers do not.
func TestPodsThatAreNotMeasuredYet(t *testing.T) {
	const lasts = 15 * time.Second
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	used := cluster.Amounts{CPUMilli: 100, MemoryBytes: 1 << 20}
	for name, tc := range map[string]struct {
		started, restarted  time.Duration // ago
		cpu, total, workSet bool          // whether each is above zero
	}{
		"long measured":       {started: time.Hour, restarted: time.Hour, cpu: true, total: true, workSet: true},
		"a new pod":           {started: 14 * time.Second, restarted: time.Hour},
		"a restarted kubelet": {started: time.Hour, restarted: 14 * time.Second, total: true, workSet: true},
	} {
		t.Run(name, func(t *testing.T) {
			node := cluster.NodeTruth{Name: "n1", Used: used, Pods: []cluster.PodTruth{
				{Namespace: "shop", Name: "p", UID: "u", Started: now.Add(-tc.started), Containers: []string{"main"}, Used: used},
			}}
			m := &meters{known: map[string]meter{"u": {at: time.Now(), nanoseconds: 1e9}}}
			summary := summaryOf(node, now, m)
			unmeasured(&summary, node, now.Add(-tc.restarted), lasts, now)
			pod := summary.Pods[0]
			cpu, total, workSet := *pod.CPU.UsageNanoCores > 0, *pod.CPU.UsageCoreNanoSeconds > 0, *pod.Memory.WorkingSetBytes > 0
			if cpu != tc.cpu || total != tc.total || workSet != tc.workSet {
				t.Errorf("CPU above zero %v, its counter %v, working set %v; want %v, %v, %v", cpu, total, workSet, tc.cpu, tc.total, tc.workSet)
			}
			if *summary.Node.CPU.UsageNanoCores == 0 || *pod.Containers[0].CPU.UsageNanoCores == 0 {
				t.Error("the node or the container reads zero as well")
			}
		})
	}
}

// As in a kubelet's answer, the total of a node is in microseconds and that of a container in
// nanoseconds.
func TestUnitsOfPressure(t *testing.T) {
	summary := summaryOf(cluster.NodeTruth{}, time.Now(), &meters{})
	addPressure(&summary, Pressure{CPU: 50})
	const waited = running / 2
	if got := summary.Node.CPU.PSI.Some.Total; got != uint64(waited.Microseconds())+1 {
		t.Errorf("a node has waited for %d, want %d and one more", got, waited.Microseconds())
	}
	if got := psi(50).Some.Total; got != uint64(waited.Nanoseconds())+1000 {
		t.Errorf("a container has waited for %d, want %d and a microsecond more", got, waited.Nanoseconds())
	}
}
