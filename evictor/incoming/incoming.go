// Package incoming follows moves in flight. It determines on which nodes their
// replacements count before any observation, filter or quota shows them there, and which
// nodes the moves have begun to cool.
package incoming

import (
	"cmp"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/strategies"
)

// Pods finds pods by their names.
type Pods interface {
	// Pod returns the pod in the watch; nil if it is gone.
	Pod(namespace, name string) *v1.Pod
}

// Expect counts the replacement of a move in flight on the node where it will
// be. A replacement that does not exist yet is represented by the pod that it
// replaces.
func Expect(session *placement.Session, pods Pods, move *ledger.Move) error {
	node := cmp.Or(move.Node, move.To)
	if node == "" {
		return nil
	}
	if pod := pods.Pod(move.Namespace, move.ReplacementName); pod != nil && string(pod.UID) == move.Replacement {
		if pod.Spec.NodeName != "" {
			return nil
		}
		return session.Expect(pod, node)
	}
	if pod := Replaced(pods, move); pod != nil {
		_, err := session.Move(pod, node)
		return err
	}
	return nil
}

// Replaced returns the evicted pod of a move if its owner still has to replace it.
// Otherwise, or if the pod is gone, it returns nil.
func Replaced(pods Pods, move *ledger.Move) *v1.Pod {
	if move.Evicted.IsZero() || move.Replacement != "" {
		return nil
	}
	if pod := pods.Pod(move.Namespace, move.Pod); pod != nil && string(pod.UID) == move.PodUID {
		return pod
	}
	return nil
}

// Arrivals returns where replacements are expected, or have landed since the
// cluster was observed.
func Arrivals(inFlight, ended []ledger.Move, observed time.Time) (arrivals []strategies.Arrival) {
	for _, move := range inFlight {
		if node := cmp.Or(move.Node, move.To); node != "" && !move.Evicted.IsZero() {
			arrivals = append(arrivals, strategies.Arrival{Namespace: move.Namespace, OwnerUID: move.Owner.UID, Node: node})
		}
	}
	for _, move := range ended {
		if move.State == ledger.Landed && move.Ended.After(observed) {
			arrivals = append(arrivals, strategies.Arrival{Namespace: move.Namespace, OwnerUID: move.Owner.UID, Node: move.Node})
		}
	}
	return arrivals
}

// begunFor is how long after its first move a node that is still hot counts as partly
// cooled. It must be long enough for the node's windows to reflect the moves, and for a
// cycle that waits for other moves.
const begunFor = 30 * time.Minute

// Begun returns the nodes that planned moves have recently begun to leave. A node that is
// still hot after begunFor, regardless of how its moves turned out, loses its precedence
// until no pod has left it for the same time, so that hotter nodes are not kept waiting.
func Begun(inFlight, ended []ledger.Move, now time.Time) map[string]bool {
	first := map[string]time.Time{}
	for _, moves := range [...][]ledger.Move{inFlight, ended} {
		for i := range moves {
			m := &moves[i]
			if m.To == "" || m.State == ledger.Cancelled || !ledger.Within(m.Evicted, now, 2*begunFor) {
				continue
			}
			if at, ok := first[m.From]; !ok || m.Evicted.Before(at) {
				first[m.From] = m.Evicted
			}
		}
	}
	begun := map[string]bool{}
	for node, at := range first {
		if now.Sub(at) < begunFor {
			begun[node] = true
		}
	}
	return begun
}

// Relieved returns the nodes that pods have left within the last day because the nodes
// were hot. At the same hour of the next day, they may be hot again.
func Relieved(inFlight, ended []ledger.Move, now time.Time) map[string]bool {
	relieved := map[string]bool{}
	for _, moves := range [...][]ledger.Move{inFlight, ended} {
		for i := range moves {
			m := &moves[i]
			if m.Relieves && m.State != ledger.Cancelled && !m.Evicted.IsZero() && now.Sub(m.Evicted) < movedFor {
				relieved[m.From] = true
			}
		}
	}
	return relieved
}

// movedFor is how long a pod counts as moved. Its demand varies by day and night, so the
// full effect of a move is visible only after a day.
const movedFor = 24 * time.Hour

// Moved returns, by UID, the pods that planned moves have recently brought to
// their nodes.
func Moved(ended []ledger.Move, now time.Time) map[string]bool {
	return MovedWithin(movedFor, ended, now)
}

// MovedWithin is like Moved, for the given duration.
func MovedWithin(within time.Duration, ended []ledger.Move, now time.Time) map[string]bool {
	moved := map[string]bool{}
	for i := range ended {
		if m := &ended[i]; m.To != "" && m.State == ledger.Landed && m.Replacement != "" && ledger.Within(m.Ended, now, within) {
			moved[m.Replacement] = true
		}
	}
	return moved
}
