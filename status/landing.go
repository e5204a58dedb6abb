package status

import (
	"cmp"
	"strings"

	"k8s.io/utils/ptr"
)

// Landing judges one node as a pod's destination, as if no other pod moved.
type Landing struct {
	Node  string `json:"node"`
	State string `json:"state"`
	// Planned is true if the plan moves the pod to this node.
	Planned bool `json:"planned,omitempty"`
	// Before and After are the node's predicted usage without and with the pod, in
	// percent of allocatable; absent if its usage is unknown.
	Before *Percents `json:"before,omitempty"`
	After  *Percents `json:"after,omitempty"`
	// Score is the extender's score of the node among the nodes that accept the pod;
	// absent if it does not accept it.
	Score *int `json:"score,omitempty"`
	// Refused is the reason why the node does not accept the pod; empty if it does.
	// Detail explains the reason.
	Refused string `json:"refused,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// compareLandings puts the planned destination first, then the other nodes that accept
// the pod by score, then the rest.
func compareLandings(a, b Landing) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), -cmp.Compare(ptr.Deref(a.Score, -1), ptr.Deref(b.Score, -1)),
		strings.Compare(a.Refused, b.Refused), strings.Compare(a.Node, b.Node))
}

func (l *Landing) rank() int {
	switch {
	case l.Planned:
		return 0
	case l.Refused == "":
		return 1
	}
	return 2
}
