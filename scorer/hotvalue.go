package scorer

import (
	"sync/atomic"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// HotTerm is one term of the hot value: every Count pods bound to a node within
// Within cost it one point of MaxScore. A term without a positive Count and
// Within is left out.
type HotTerm struct {
	Within time.Duration
	Count  int
}

// hotValue counts the bindings of each node, for scores to drop before the
// pods' usage is measured. The nil value is of a Board without terms.
//
// What counts is set when the Board is made and grows by Bound until the next
// Board: a binding leaves a term with the first Board that is made after its
// time is over. It so counts for up to the time between two Boards too long,
// and never too short. Nothing is kept between Boards: a pod that went is
// counted until the next one, and a pod that was bound long after it was
// created drops out with the next one, because the time of the binding itself
// stands nowhere.
type hotValue struct {
	terms []hotTerm
	// bound has one counter per node and term, those of a node side by side.
	bound []atomic.Int32
}

type hotTerm struct {
	since time.Time
	count int
}

func newHotValue(snapshot *cluster.Snapshot, now time.Time, terms []HotTerm) *hotValue {
	h := &hotValue{}
	for _, term := range terms {
		if term.Count > 0 && term.Within > 0 {
			h.terms = append(h.terms, hotTerm{since: now.Add(-term.Within), count: term.Count})
		}
	}
	if len(h.terms) == 0 {
		return nil
	}
	h.bound = make([]atomic.Int32, len(h.terms)*len(snapshot.Nodes))
	for i, node := range snapshot.Nodes {
		for _, pod := range node.Pods {
			h.add(i, pod.Created)
		}
	}
	return h
}

// add counts a binding. One from the future counts: clocks differ, and the pod
// is there.
func (h *hotValue) add(node int, at time.Time) {
	for t := range h.terms {
		if at.After(h.terms[t].since) {
			h.bound[node*len(h.terms)+t].Add(1)
		}
	}
}

func (h *hotValue) of(node cluster.NodeIndex) int {
	hot, first := 0, int(node)*len(h.terms)
	for t := range h.terms {
		hot += int(h.bound[first+t].Load()) / h.terms[t].count
	}
	return hot
}
