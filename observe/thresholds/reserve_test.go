package thresholds

import (
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Available memory refers to the whole machine. Memory that amounts exclude because the node's
// reserve covers it is not available either.
func TestAvailableMemoryRefersToTheWholeMachine(t *testing.T) {
	n := steady(0, 95)
	n.change = func(_ *cluster.Node, u *usage.NodeUsage) {
		u.Reserved = []cluster.Amounts{{0, 15 * gib}, {0, 15 * gib}, {0, 15 * gib}}
	}
	rule := Rule{Metric: MemoryAvailable, Window: usage.Avg5m, LowerIsWorse: true, Levels: Levels{Low: 40, Reject: 20, Evict: 10, Leave: 15}}
	r := resolve(t, n, rule)
	if metric, over := r.Over(0); !over || metric != MemoryAvailable { // 110 of 120 GiB are used
		t.Errorf("over by %q: %v", metric, over)
	}
	if got := r.Need(0, cluster.Amounts{})[cluster.Memory]; got != 2*gib {
		t.Errorf("%d bytes have to leave, want 2 GiB", got)
	}
	if got := r.Ceiling(0)[cluster.Memory]; got != (96-15)*gib {
		t.Errorf("at most %d bytes may be used, want 81 GiB", got)
	}
	if now, _ := r.Now(0, MemoryAvailable, usage.Avg5m); now < 8.3 || now > 8.4 {
		t.Errorf("%.1f%% are available, want 8.3%%", now)
	}
}
