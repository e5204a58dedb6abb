// Package landings finds the nodes to which a replacement may be restricted.
package landings

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
)

// Most is the maximum number of nodes that Of returns. It is low because the API server
// spends time on each node for each required term of a pod.
const Most = 5

// maxTries is the maximum number of nodes that are checked for alternates.
const maxTries = 32

// Of returns up to Most nodes for the replacement of a pod: its destination, which the
// caller has checked, followed by the coolest other nodes that fit. If a pod is
// restricted to a few nodes, kube-scheduler may preempt other pods there, so nodes with
// pods of a lower priority are left out. If the destination is one of them, Of returns
// nil.
func Of(seen *observer.Observation, move *ledger.Intent, pod *v1.Pod, takes func(node string) bool) []string {
	board, known := seen.Board, seen.View.Snapshot
	spares := func(i cluster.NodeIndex) bool { return !preempts(pod, known.Nodes[i].Pods) }
	to, from := board.Node([]byte(move.To)), board.Node([]byte(move.From))
	if to < 0 || !spares(to) {
		return nil
	}
	all := make([]cluster.NodeIndex, board.Len())
	for i := range all {
		all[i] = cluster.NodeIndex(i)
	}
	tried, found := map[cluster.NodeIndex]bool{to: true, from: true}, []string{move.To}
	for len(found) < Most && len(tried) < maxTries {
		next := seen.Coolest(move, all, func(i cluster.NodeIndex) bool { return tried[i] })
		if next < 0 {
			break
		}
		tried[next] = true
		if spares(next) && takes(board.Name(next)) {
			found = append(found, board.Name(next))
		}
	}
	return found
}

// preempts reports whether a pod like the given one could preempt any of the others.
func preempts(pod *v1.Pod, others []*cluster.Pod) bool {
	if policy := pod.Spec.PreemptionPolicy; policy != nil && *policy == v1.PreemptNever {
		return false
	}
	priority := ptr.Deref(pod.Spec.Priority, 0)
	return slices.ContainsFunc(others, func(other *cluster.Pod) bool { return other.Priority < priority })
}
