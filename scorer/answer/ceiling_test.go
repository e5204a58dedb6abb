package answer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// A move may be planned beyond its destination's own ceiling. Its replacement may then fill the
// node up to the move's ceiling. Beyond that, and for every other pod, the node is too hot.
func TestLandingsUpToTheCeilingOfTheirMove(t *testing.T) {
	for name, tc := range map[string]struct {
		ceiling int64
		pod     *extender.Pod
		want    map[string]extender.Reject
	}{
		"the replacement":           {9000, webPod("new"), map[string]extender.Reject{"busy": keep, "cool": notThere}},
		"beyond the move's ceiling": {7500, webPod("new"), map[string]extender.Reject{"busy": notThere, "cool": keep}},
		"a move without one":        {0, webPod("new"), map[string]extender.Reject{"busy": notThere, "cool": keep}},
		"a pod that replaces none":  {9000, strange("p", 100), map[string]extender.Reject{"busy": tooHot, "cool": keep}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBridge(t)
			b.node("full", 9900)
			b.node("busy", 7000)
			b.node("cool", 3000)
			b.observe()
			b.observer.Ledger().Record(b.now, ledger.Intent{
				Namespace: "ns", Pod: "web-1", PodUID: "uid-1", Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"}, TemplateHash: "h1",
				Usage: cluster.Amounts{1000, 0}, From: "full", To: "busy", CeilingMilliCores: tc.ceiling, TTL: time.Hour,
			})
			b.observer.Ledger().Leaves("uid-1", b.now)
			b.watch(tc.pod)
			if diff := cmp.Diff(tc.want, b.filter(tc.pod, "busy", "cool")); diff != "" {
				t.Errorf("filter (-want +got):\n%s", diff)
			}
		})
	}
}
