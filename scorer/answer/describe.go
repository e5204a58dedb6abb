package answer

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// Describe returns the pod in the form in which the extender would have decoded
// it.
func Describe(pod *v1.Pod) *extender.Pod {
	record := informed.Pod(pod)
	created := ""
	if !record.Created.IsZero() {
		created = record.Created.UTC().Format(time.RFC3339)
	}
	return &extender.Pod{
		Namespace: record.Namespace, Name: record.Name, UID: record.UID,
		OwnerUID: record.Owner.UID, OwnerKind: record.Owner.Kind, OwnerName: record.Owner.Name,
		Created: created, TemplateHash: record.TemplateHash,
		HasClaims: record.HasClaims,
		CPUMilli:  record.Requests[cluster.CPU], MemoryBytes: record.Requests[cluster.Memory],
		LimitCPUMilli: record.Limits[cluster.CPU], LimitMemoryBytes: record.Limits[cluster.Memory],
	}
}

// Moves reports whether a move of the pod's owner is in flight, so that the pod may be the
// replacement.
func (a *Answerer) Moves(pod *extender.Pod) bool {
	moves := a.observer.Ledger()
	return !moves.Quiet() && slices.ContainsFunc(moves.MovesOf(pod.Namespace, pod.OwnerUID), func(move ledger.Move) bool { return move.InFlight() })
}

// Land returns the node for which the replacement of a move is nominated, and
// books the replacement there. It returns an empty name for a pod that replaces
// nothing, or if no node is cool enough. Because kube-scheduler has not checked
// the node, Land never returns one that was closed since the observation or
// that is known not to accept the pod.
func (a *Answerer) Land(pod *v1.Pod, takes func(node string) bool) string {
	c := a.consider(Describe(pod))
	if c.Neutral() || !c.moving {
		return ""
	}
	node := c.Land(c.round.observation.Board.Names(), func(name string) bool { return a.observer.Store().Closed(name) == "" && takes(name) })
	booked := c.move.State == ledger.Booked && c.move.Node == node
	if node != "" && !booked { // if the same held pod is queried again, its node has not been tried yet
		c.Reserve(node)
	}
	return node
}
