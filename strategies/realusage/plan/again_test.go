package plan

import (
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// again marks a pod as moved within a day.
func again(p *strategies.Pod) { p.Disruption.Again = true }

// Of pods with the same usage, one that was not moved recently leaves first, even if it is
// otherwise twice as expensive.
func TestOthersGoBeforeMovedPods(t *testing.T) {
	for _, moved := range []string{"a", "b"} {
		nodes := []Node{
			cool("node-1", cluster.Amounts{200, 100}),
			hot("node-2", cluster.Amounts{500, 100}, pod("a", cluster.Amounts{150, 10}), pod("b", cluster.Amounts{150, 10})),
		}
		for k := range nodes[1].Pods {
			p := &nodes[1].Pods[k]
			if costing(2 * strategies.PlainQuarters)(p); p.Name == moved {
				costing(strategies.PlainQuarters)(p)
				again(p)
			}
		}
		got := New(Input{Nodes: shipped().on(nodes), Placement: &refusing{}, MinHotMinutesSaved: 10})
		if len(got.Moves) != 1 || got.Moves[0].Name == moved {
			t.Errorf("%s was moved within a day: %v", moved, described(got))
		}
	}
}

// A saving that justifies one move of a pod does not justify another one within a day. A node that
// stays hot is still cooled, by moving such pods if there are no others.
func TestMovedPodsMoveAgainForMoreOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		minutes uint32 // for how long a has had the usage that makes the node hot
		again   bool
		moves   int
	}{
		"a short peak":                {minutes: 25, moves: 1},
		"a short peak of a moved pod": {minutes: 25, again: true},
		"usage that lasts":            {minutes: 240, again: true, moves: 1},
	} {
		t.Run(name, func(t *testing.T) {
			a := pod("a", cluster.Amounts{300, 10})
			a.Disruption.Again = tc.again
			nodes := asOf(shipped().on([]Node{
				cool("node-1", cluster.Amounts{200, 100}),
				hot("node-2", cluster.Amounts{400, 100}, a),
			}), nil)
			n := &nodes[1]
			n.Load.Remove(n.Pods[0].Expected)
			n.Pods[0].Expected = was(20, 300, tc.minutes)
			n.Load.Add(n.Pods[0].Expected)
			got := New(Input{Nodes: nodes, Placement: &refusing{}, MinHotMinutesSaved: 10})
			if len(got.Moves) != tc.moves {
				t.Errorf("%d moves, want %d: %v", len(got.Moves), tc.moves, described(got))
			}
			if tc.moves > 0 {
				return
			}
			if d := got.Declined[0]; d.Reason != reasons.NotWorthwhile || !strings.HasSuffix(d.Detail, "requires 40, with 1 pod moved within a day") {
				t.Errorf("the pod stays for %s: %s", d.Reason, d.Detail)
			}
		})
	}
}
