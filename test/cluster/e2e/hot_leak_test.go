package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// shipped is stage.Fast with the shipped windows and memory lines.
var shipped = strings.NewReplacer(
	"observationPeriod: 25s", "observationPeriod: 60s",
	"windows: [avg_5m], consecutiveSamples: 2, minWindow: 15s", "windows: [avg_5m, p50_5m, avg_15m], consecutiveSamples: 3, minWindow: 60s",
	"memory: {low: 45, reject: 60, evict: 65, leave: 60}", "memory: {low: 60, reject: 75, evict: 80, leave: 75}",
).Replace(stage.Fast)

// A pod leaks 5 % of its node's memory per minute, starting at 76 %. By the windows alone, the node
// would be hot only after its memory is exhausted. The leaking pod is moved before 95 %.
//
//	node-0: 12 × 16.2 = 194.4 of 256 GiB = 76 %
//
//e2e:tier all
func TestLeakIsRelieved(t *testing.T) {
	f := newFixture(t)
	nodes := f.crowdFirst(stage.Workload("cache", cluster.Resources{Memory: "8Gi"}, cluster.Resources{CPU: "500m", Memory: "16200Mi"}))
	mark := f.Mark()
	f.Serve(f.Policy(stage.RealUsage, shipped))
	f.Eventually(2*time.Minute, "the node is known", func(context.Context) bool { return f.Are("warm", nodes[0]) })

	leaking, highest := f.Pods(t.Context(), "cache")[0].Name, 0.0
	begun := time.Now()
	f.Eventually(4*time.Minute, "what leaks is moved", func(ctx context.Context) bool {
		leaked := 16200 + int(time.Since(begun).Minutes()*0.05*256*1024)
		if err := f.SetUsage(ctx, "shop", leaking, cluster.Resources{Memory: fmt.Sprintf("%dMi", leaked)}); err != nil {
			return slices.ContainsFunc(f.Granted(mark), func(e stage.Eviction) bool { return e.Pod == leaking })
		}
		loads, err := f.NodeUsage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		highest = max(highest, loads[nodes[0]].MemoryPercent)
		return false
	})
	if highest < 80 || highest > 95 {
		t.Errorf("the node was at %.1f %% of its memory, want more than 80 and at most 95", highest)
	}
	if got := f.Evictions(mark); got > 2 {
		t.Errorf("%d evictions, want the pod that leaks and at most one other", got)
	}
	t.Logf("%d evictions, at most %.1f %% of memory, after %v", f.Evictions(mark), highest, time.Since(begun).Round(time.Second))
}
