package steering

import (
	"math"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// Verdict is how a placement of kube-scheduler compares with what would have been answered.
type Verdict string

// The verdicts. All but the last two are about a pod that was seen on a node.
const (
	// Best: no node of the request would have had a higher score.
	Best Verdict = "best"
	// BetterKnown: another node of the request would have had a higher score.
	BetterKnown Verdict = "better_known"
	// WouldReject: the filter would have kept the pod off its node.
	WouldReject Verdict = "would_reject"
	// Unmeasured: the usage of the pod's node is not known, or the node was not in the request.
	Unmeasured Verdict = "unknown"
	// Unbound: the pod was on no node for ten minutes after it was last asked for, or went before it was seen on one.
	Unbound Verdict = "unbound"
	// Dropped: the answer made room for newer ones before the pod was seen.
	Dropped Verdict = "dropped"
)

// Verdicts returns all verdicts.
func Verdicts() []Verdict {
	return []Verdict{Best, BetterKnown, WouldReject, Unmeasured, Unbound, Dropped}
}

// Placement is where kube-scheduler put a pod, beside what it would have been told.
type Placement struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	UID       string `json:"uid"`
	// Asked is when kube-scheduler last asked, Seen when the pod was first observed on its node.
	Asked   time.Time `json:"asked"`
	Seen    time.Time `json:"seen"`
	Verdict Verdict   `json:"verdict"`
	// ScoreGap is by how many points of ten the best score is above that of the node chosen; a rejected node has none of
	// them. It is missing where there is nothing to compare.
	ScoreGap *int       `json:"scoreGap,omitempty"`
	Chosen   Considered `json:"chosen"`
	// Best is the node that would have had the highest score, of equals the coolest; missing before the first observation.
	Best *Considered `json:"best,omitempty"`
	// Candidates counts the nodes of the request, Rejected those that the filter would have rejected, RejectedNodes names a
	// few of them.
	Candidates    int            `json:"candidates"`
	Rejected      int            `json:"rejected"`
	RejectedNodes []RejectedNode `json:"rejectedNodes,omitempty"`
	// AllRejected says that it would have rejected all, which is answered by keeping all.
	AllRejected bool `json:"allRejected,omitempty"`
}

// Considered is a node of a request as it would have been answered for.
type Considered struct {
	Node string `json:"node"`
	// Score is 0 to 10; missing where the node would have been rejected or was not in the request.
	Score *int `json:"score,omitempty"`
	// Rejected is why the filter would have kept the pod off the node.
	Rejected string `json:"rejected,omitempty"`
	// Predicted is the node's usage with the pod on it, as it was known when kube-scheduler asked; missing where it was not.
	Predicted *PredictedPercent `json:"predictedPercent,omitempty"`
}

// PredictedPercent is predicted usage in percent of allocatable.
type PredictedPercent struct {
	CPU    float64 `json:"cpu"`
	Memory float64 `json:"memory"`
}

// RejectedNode is a node that the filter would have rejected, and why.
type RejectedNode struct {
	Node   string `json:"node"`
	Reason string `json:"reason"`
}

// compare judges the node that kube-scheduler chose.
func (q *question) compare(node string, seen time.Time) Placement {
	placement := Placement{
		Namespace: q.namespace, Pod: q.name, UID: q.uid, Asked: q.at, Seen: seen, Verdict: Unmeasured, Best: q.best,
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
	if q.best != nil { // nil where only nodes that nobody knows would have been kept
		gap = *q.best.Score - int(chosen.score)
		placement.ScoreGap = &gap
	}
	switch {
	case rejected:
		placement.Verdict = WouldReject
	case gap > 0:
		placement.Verdict = BetterKnown
	default:
		placement.Verdict = Best
	}
	return placement
}

// find returns the answer about a node; nil where the request did not have it or it was not known by then.
func (q *question) find(node string) *answer {
	if q.index == nil {
		return nil
	}
	wanted := int32(q.index.Find([]byte(node))) //nolint:gosec // a cluster has fewer than 2^31 nodes
	if wanted < 0 {
		return nil
	}
	i := slices.IndexFunc(q.answers, func(a answer) bool { return a.node == wanted })
	if i < 0 {
		return nil
	}
	return &q.answers[i]
}

func (a *answer) considered(node string) Considered {
	c := Considered{Node: node}
	if a.reason == extender.RejectNone {
		score := int(a.score)
		c.Score = &score
	} else {
		c.Rejected = a.reason.String()
	}
	if a.known {
		c.Predicted = &PredictedPercent{CPU: tenths(a.predicted[cluster.CPU]), Memory: tenths(a.predicted[cluster.Memory])}
	}
	return c
}

// tenths rounds to what is worth printing.
func tenths(percent float32) float64 { return math.Round(float64(percent)*10) / 10 }

// placements are the newest ones.
type placements struct {
	ring [maxPlacements]Placement
	n    int // all so far
}

func (p *placements) add(placement Placement) {
	p.ring[p.n%len(p.ring)] = placement
	p.n++
}

// newestFirst returns a copy.
func (p *placements) newestFirst() []Placement {
	list := make([]Placement, 0, min(p.n, len(p.ring)))
	for back := range min(p.n, len(p.ring)) {
		list = append(list, p.ring[(p.n-1-back)%len(p.ring)])
	}
	return list
}
