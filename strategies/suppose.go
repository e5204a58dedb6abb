package strategies

import (
	"cmp"
	"maps"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
)

// Supposing returns the observation as if the given moves had been made: their pods are
// leaving, and their replacements are expected. A dry run and a preview make no moves, so
// the next strategy plans on this observation. In a cycle that evicts, it plans on the
// ledger instead.
func (o *Observed) Supposing(moves []Move) Observed {
	after := *o
	if len(moves) == 0 {
		return after
	}
	after.Supposed, after.Coming = slices.Concat(o.Supposed, moves), slices.Clone(o.Coming)
	after.Begun, after.Relieved = map[string]bool{}, map[string]bool{}
	maps.Copy(after.Begun, o.Begun)
	maps.Copy(after.Relieved, o.Relieved)
	if o.Board != nil {
		after.Board = o.Board.Clone()
	}
	supposed := Tally{}
	for i := range moves {
		m := &moves[i]
		if after.Board != nil {
			after.Board.Adjust(m.To, cluster.NewCharge(m.Usage, m.Requests))
		}
		after.Begun[m.From] = true
		if m.Plugin == "" && m.Reason.Relieves() {
			after.Relieved[m.From] = true
		}
		after.Coming = append(after.Coming, Arrival{Namespace: m.Namespace, OwnerUID: m.Owner.UID, Node: m.To})
		supposed.Add(m.Pod.Pod)
	}
	if beside := o.Beside; beside != nil {
		after.Beside = func(pod *cluster.Pod, ofOwner, ofNamespace int) (reasons.Reason, string) {
			owner, namespace := supposed.Beside(pod)
			return beside(pod, ofOwner+owner, ofNamespace+namespace)
		}
	}
	if o.MaxMoves > 0 {
		after.MaxMoves = max(0, o.MaxMoves-len(moves))
		if after.MaxMoves == 0 {
			after.Held = cmp.Or(o.Held, string(reasons.MovesPerHour)+": moves planned earlier use up this hour's")
			after.Closed = cmp.Or(o.Closed, after.Held)
		}
	}
	return after
}
