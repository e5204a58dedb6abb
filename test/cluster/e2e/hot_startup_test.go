package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// starting is stage.Fast with a startup period. It judges nodes by their last sample, because a
// five-minute mean reaches back to when the case's nodes became ready.
var starting = strings.NewReplacer("windows: [avg_5m]", "windows: [last]", "startup: 0s", "startup: 15s").Replace(stage.Fast)

// Pods that have just started use far more than they request, and have no siblings with which to
// compare them. They stay, although their node is above its line. Once they have been measured
// after their startup, the node is cooled.
//
//	node-0: 12 × 2.2 = 26.4 of 32 cores = 82.5 %; three pods of 2.2 can go
//
//e2e:tier all
func TestStartingPodsAreNoHeat(t *testing.T) {
	f := newFixture(t)
	nodes := f.crowdFirst(stage.Workload("burst", cluster.Resources{CPU: "250m"}, cluster.Resources{CPU: "2200m"}))
	created := map[string]time.Time{}
	for _, pod := range f.Pods(t.Context(), "burst") {
		created[pod.Name] = pod.CreationTimestamp.Time
	}
	mark := f.Mark()
	f.Serve(f.Policy(stage.RealUsage, starting))
	f.Eventually(30*time.Second, "the node measured above its line", func(context.Context) bool { return f.Measured(80, nodes[0]) })
	if f.Are("hot", nodes[0]) || f.Evictions(mark) > 0 {
		t.Errorf("%d evictions from a node whose pods have just started", f.Evictions(mark))
	}
	f.Eventually(2*time.Minute, "no node above its line", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	const settled = 30 * time.Second // the startup, and as long again for the samples after it
	for _, eviction := range f.Granted(mark) {
		if age := eviction.At.Sub(created[eviction.Pod]); age < settled {
			t.Errorf("pod %s was evicted when it was %v old", eviction.Pod, age)
		}
	}
}

// A node that turns hot between two cycles is cooled at once. Evenkeel does not wait for the
// interval to pass.
//
//	node-0: 12 × 1.2 = 14.4 of 32 cores = 45 %; then 12 × 2.2 = 26.4 = 82.5 %, and three pods of 2.2 can go
func TestANodeThatTurnsHotStartsACycle(t *testing.T) {
	f := newFixture(t)
	nodes := f.crowdFirst(stage.Workload("burst", cluster.Resources{CPU: "250m"}, cluster.Resources{CPU: "1200m"}))
	mark := f.Mark()
	unforeseen := strings.NewReplacer("windows: [avg_5m]", "windows: [last]", "cycleDeadline: 3m", "cycleDeadline: 3m, forecast: none").Replace(stage.Fast)
	serving := f.Serve(f.Policy(stage.RealUsage, unforeseen), "--descheduling-interval", "1h")
	f.Eventually(time.Minute, "the end of the first cycle", func(context.Context) bool { return strings.Contains(serving.Log(), `"Cycle ended"`) })
	if f.Evictions(mark) > 0 {
		t.Fatal("pods were evicted from nodes that are not hot")
	}
	for _, pod := range f.Pods(t.Context(), "burst") {
		if err := f.SetUsage(t.Context(), "shop", pod.Name, cluster.Resources{CPU: "2200m"}); err != nil {
			t.Fatal(err)
		}
	}
	f.Eventually(time.Minute, "the node called hot", func(context.Context) bool { return f.Are("hot", nodes[0]) })
	const twoSamples = 10 * time.Second
	f.Eventually(twoSamples, "an eviction", func(context.Context) bool { return f.Evictions(mark) > 0 })
	if !strings.Contains(serving.Log(), `"Cycle starts" cause="NodeHot" node="`+nodes[0]+`"`) {
		t.Error("the log does not say that the node has started a cycle")
	}
	f.Eventually(time.Minute, "no node above its line", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
}
