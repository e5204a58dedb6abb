package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/strategies"
)

func wanting(more int64) func(*strategies.Pod) { return func(p *strategies.Pod) { p.Unserved = more } }

// overfull sets a hot node's unserved demand to the sum of its pods'.
func overfull(n Node) Node {
	for i := range n.Pods {
		n.Unserved += n.Pods[i].Unserved
	}
	return n
}

// A full node is relieved of its pods' demand in excess of the line, if there is space for it
// elsewhere, and otherwise of the measured excess. On their destinations, pods count as measured.
func TestMovesOffAFullNode(t *testing.T) {
	at := func(percent int64) cluster.Amounts { return cluster.Amounts{10 * percent, 0} }
	served := func() Node { return hot("full", at(20), pods(4, "p", at(20))...) } // 100 % of the node
	short := func() Node { return overfull(hot("full", at(20), pods(4, "p", at(20), wanting(150))...)) }
	for name, tc := range map[string]struct {
		nodes []Node
		want  []string
	}{
		"35 % have to leave, as measured": {
			[]Node{served(), cool("roomy", at(10)), cool("roomier", at(5))}, []string{"p0: full -> roomier", "p1: full -> roomy"},
		},
		"95 % have to leave, of pods that want 35 % each": {
			[]Node{short(), cool("roomy", at(10)), cool("roomier", at(5))},
			[]string{"p0: full -> roomier", "p1: full -> roomy", "p2: full -> roomier"},
		},
		"there is no space for that, but for the measured 35 %": {
			[]Node{short(), cool("narrow", at(40)), cool("narrower", at(40))}, []string{"p0: full -> narrow"},
		},
		"nor for that": {
			[]Node{short(), cool("full up", at(58))},
			[]string{"p0: NoLanding", "p1: NoLanding", "p2: NoLanding", "p3: NoLanding", "full stays: NoLanding"},
		},
		"of pods that show as much, the one that wants more": {
			[]Node{overfull(hot("full", at(45), pod("a", at(20)), pod("b", at(20), wanting(300)))), cool("roomy", at(10))},
			[]string{"b: full -> roomy"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Nodes: shipped().on(tc.nodes), Placement: anywhere{}}
			got := described(New(in))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(got, described(New(in))); diff != "" {
				t.Errorf("twice the same (-once +again):\n%s", diff)
			}
		})
	}
}
