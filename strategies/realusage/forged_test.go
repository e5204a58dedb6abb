package realusage

import (
	"testing"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// Pods of another namespace that name a pod's owner as theirs do not keep the pod off a node.
// Otherwise, whoever creates them could choose where the pods of others land.
func TestForgedSiblingsSteerNoLanding(t *testing.T) {
	land := func(forged bool) string {
		y := newYard(t)
		if forged {
			hot, cool := y.observed.View.Snapshot.Nodes[0], y.observed.View.Snapshot.Nodes[1]
			for _, pod := range hot.Pods {
				evil := *pod
				evil.Namespace, evil.UID, evil.Node = "evil", "evil-"+pod.UID, cool.Node.Name
				cool.Pods = append(cool.Pods, &evil)
			}
			read := &y.observed.View.Nodes[1]
			read.Pods = append(read.Pods, make([]usage.PodUsage, len(hot.Pods))...)
		}
		moves := y.study(t, 0, 0).Made.Plan.Moves
		if len(moves) != 1 {
			t.Fatalf("moves %+v, want one", moves)
		}
		return moves[0].To
	}
	if want, got := land(false), land(true); got != want {
		t.Errorf("lands on %s, and on %s beside forged siblings there", want, got)
	}
}
