package scorer

import (
	"sync/atomic"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// HotTerm is one term of the hot value: for every Count pods that were bound to
// it within Within, a node loses one point of MaxScore. A term without a
// positive Count and Within is left out.
type HotTerm struct {
	Within time.Duration
	Count  int
}

// hotValue counts the bindings of each node, so that scores drop before the
// pods' usage is measured. It is nil for a Board without terms.
//
// Counts are set when the Board is made, and Bound adds to them until the next Board. A
// binding leaves a term with the first Board made after its time is over, so it may count
// too long by up to the time between two Boards, but never too short. Nothing is kept
// between Boards. So a pod that left is counted until the next Board. A pod that was
// bound long after its creation is no longer counted from the next Board on, because the
// time of binding is not recorded anywhere.
type hotValue struct {
	terms []hotTerm
	// bound has one counter per node and term, grouped by node.
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

// add counts a binding. A binding from the future counts as well, because
// clocks differ and the pod has been bound.
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
