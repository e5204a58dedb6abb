package answer

import (
	"time"

	"github.com/evenkeel/evenkeel/scorer/extender"
)

// Comparison is how a placement of kube-scheduler compares with the answer that
// it would have received.
type Comparison string

// The comparisons. All but the last two are of a pod that was seen on a node.
const (
	// Best: no node of the request would have had a higher score.
	Best Comparison = "best"
	// BetterKnown: another node of the request would have had a higher score.
	BetterKnown Comparison = "better_known"
	// WouldReject: the filter would have kept the pod off its node.
	WouldReject Comparison = "would_reject"
	// Unmeasured: the usage of the pod's node is not known, or the node was not
	// in the request.
	Unmeasured Comparison = "unknown"
	// Unbound: the pod was not seen on a node within ten minutes of the last
	// request for it, or was deleted before.
	Unbound Comparison = "unbound"
	// Dropped: the answer was dropped for newer ones before the pod was seen.
	Dropped Comparison = "dropped"
)

// Comparisons returns all comparisons.
func Comparisons() []Comparison {
	return []Comparison{Best, BetterKnown, WouldReject, Unmeasured, Unbound, Dropped}
}

// Placement is where kube-scheduler put a pod, with the answer that it would
// have received.
type Placement struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	UID       string `json:"uid"`
	// Asked is when kube-scheduler last asked; Seen is when the pod was first
	// observed on its node.
	Asked      time.Time  `json:"asked"`
	Seen       time.Time  `json:"seen"`
	Comparison Comparison `json:"verdict"`
	// ScoreGap is how many points of ten the best score is above that of the
	// chosen node; a rejected node counts as 0. It is missing if there is
	// nothing to compare.
	ScoreGap *int       `json:"scoreGap,omitempty"`
	Chosen   Considered `json:"chosen"`
	// Best is the node with the highest score, of equals the coolest; missing
	// before the first observation.
	Best *Considered `json:"best,omitempty"`
	// Candidates counts the nodes of the request; Rejected counts those that
	// the filter would have rejected, of which RejectedNodes lists a few.
	Candidates    int            `json:"candidates"`
	Rejected      int            `json:"rejected"`
	RejectedNodes []RejectedNode `json:"rejectedNodes,omitempty"`
	// AllRejected reports that the filter would have rejected all nodes, so
	// that the reply would have kept all.
	AllRejected bool `json:"allRejected,omitempty"`
}

// compare returns how the node that kube-scheduler chose compares with the
// answer.
func (q *question) compare(node string, seen time.Time) Placement {
	placement := Placement{
		Namespace: q.namespace, Pod: q.name, UID: q.uid, Asked: q.at, Seen: seen, Comparison: Unmeasured, Best: q.best,
		Chosen: Considered{Node: node}, Candidates: q.candidates, Rejected: q.rejected, RejectedNodes: q.examples,
		AllRejected: q.allRejected,
	}
	chosen := q.find(node)
	if chosen == nil {
		return placement
	}
	placement.Chosen = chosen.considered(node)
	rejected := chosen.reason != extender.RejectNone
	if !chosen.known && !rejected {
		return placement
	}
	gap := 0
	if q.best != nil { // nil if only unknown nodes would have been kept
		gap = *q.best.Score - int(chosen.score)
		placement.ScoreGap = &gap
	}
	switch {
	case rejected:
		placement.Comparison = WouldReject
	case gap > 0:
		placement.Comparison = BetterKnown
	default:
		placement.Comparison = Best
	}
	return placement
}
