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
	// Planned says that the plan moves the pod here.
	Planned bool `json:"planned,omitempty"`
	// Before and After are the node's predicted usage without the pod and with
	// it, in percent of allocatable; absent if its usage is not known.
	Before *Percents `json:"before,omitempty"`
	After  *Percents `json:"after,omitempty"`
	// Score is the extender's score of the node among those that take the pod;
	// absent if it does not.
	Score *int `json:"score,omitempty"`
	// Refused is why the node does not take the pod, and Detail says more;
	// empty if it does.
	Refused string `json:"refused,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// compareLandings puts the planned destination first, then others that take the
// pod by score, then the rest.
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
