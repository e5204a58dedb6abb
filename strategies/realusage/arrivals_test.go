package realusage

import (
	"testing"

	"github.com/evenkeel/evenkeel/strategies"
)

// A replacement on its way to a node counts as a pod of its owner there, so the next replica goes
// to another node.
func TestArrivalsAreKeptApart(t *testing.T) {
	for coming, want := range map[string]string{"": "node-00001", "node-00001": "node-00002", "node-00002": "node-00001", "gone": "node-00001"} {
		y := newYard(t)
		for _, pod := range y.observed.View.Snapshot.Nodes[0].Pods {
			if coming != "" {
				y.observed.Coming = append(y.observed.Coming, strategies.Arrival{Namespace: pod.Namespace, OwnerUID: pod.Owner.UID, Node: coming})
			}
		}
		moves := y.study(t, 0, 0).Made.Plan.Moves
		if len(moves) != 1 || moves[0].To != want {
			t.Errorf("with a replacement on its way to %q: %+v, want one to %s", coming, moves, want)
		}
	}
}
