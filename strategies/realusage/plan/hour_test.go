package plan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// atMost returns a limit of moves for each owner and for each namespace.
func atMost(ofOwners, ofNamespaces int) func(*cluster.Pod, int, int) (reasons.Reason, string) {
	return func(_ *cluster.Pod, owners, namespaces int) (reasons.Reason, string) {
		switch {
		case owners >= ofOwners:
			return reasons.OwnerMovesPerHour, fmt.Sprintf("%d moves", owners)
		case namespaces >= ofNamespaces:
			return reasons.NamespaceMovesPerHour, fmt.Sprintf("%d moves", namespaces)
		}
		return "", ""
	}
}

// owned assigns pods to owners in a namespace.
func owned(n Node, of map[string]strategies.Owner) Node {
	for i := range n.Pods {
		pod := n.Pods[i].Pod
		owner := of[pod.Name[:1]]
		pod.Namespace, pod.Owner.UID = owner.Namespace, owner.UID
	}
	return n
}

// A plan contains no moves that the hourly limit of their owner or namespace would refuse.
func TestPlanKeepsTheHour(t *testing.T) {
	of := map[string]strategies.Owner{"a": {Namespace: "one", UID: "rs-a"}, "b": {Namespace: "one", UID: "rs-b"}, "c": {Namespace: "two", UID: "rs-c"}}
	mixed := func(name string, first, second string) Node {
		return owned(hot(name, cluster.Amounts{240}, append(pods(3, first+name, cluster.Amounts{100}), pods(3, second+name, cluster.Amounts{90}, costing(8))...)...), of)
	}
	cases := map[string]struct {
		nodes  []Node
		beside func(*cluster.Pod, int, int) (reasons.Reason, string)
		want   []string
	}{
		"nothing bounds them": {
			nodes: []Node{cool("x", cluster.Amounts{}), owned(hot("h", cluster.Amounts{550}, pods(3, "a", cluster.Amounts{100})...), of)},
			want:  []string{"a0: h -> x", "a1: h -> x"},
		},
		"an owner with fewer moves left than its node needs": {
			nodes:  []Node{cool("x", cluster.Amounts{}), owned(hot("h", cluster.Amounts{550}, pods(3, "a", cluster.Amounts{100})...), of)},
			beside: atMost(1, 9),
			want:   []string{"a0: h -> x", "a1: OwnerMovesPerHour", "h stays: OwnerMovesPerHour"},
		},
		"an owner with moves for less than half of what has to leave": { // the next hours bring the rest
			nodes:  []Node{cool("x", cluster.Amounts{}), owned(hot("h", cluster.Amounts{550}, pods(5, "a", cluster.Amounts{40})...), of)},
			beside: atMost(1, 9),
			want:   []string{"a0: h -> x", "a1: OwnerMovesPerHour", "a2: OwnerMovesPerHour", "h stays: OwnerMovesPerHour"},
		},
		"a namespace with fewer": {
			nodes:  []Node{cool("x", cluster.Amounts{}), owned(hot("h", cluster.Amounts{590}, pod("a0", cluster.Amounts{100}), pod("b0", cluster.Amounts{100}), pod("c0", cluster.Amounts{10})), of)},
			beside: atMost(9, 1),
			want:   []string{"a0: h -> x", "b0: NamespaceMovesPerHour", "h stays: NamespaceMovesPerHour"},
		},
		"others of the node are moved instead": {
			nodes:  []Node{cool("x", cluster.Amounts{}), cool("y", cluster.Amounts{}), mixed("h", "a", "c"), mixed("i", "a", "c")},
			beside: atMost(2, 9),
			want:   []string{"ah0: h -> x", "ah1: h -> y", "ci0: i -> x", "ci1: i -> y"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := Input{Nodes: shipped().on(tc.nodes), Beside: tc.beside, Placement: &refusing{}}
			if diff := cmp.Diff(tc.want, described(New(in))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}
