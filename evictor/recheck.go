package evictor

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/incoming"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// gone refuses a pod that is terminating, no longer exists, or was replaced by another
// pod of the same name.
func (q *question) gone(context.Context) ruling {
	if gone(q.pod, q.move.PodUID) {
		return refusing(reasons.PodChanged)
	}
	return ruling{}
}

// cancelled refuses a move that is no longer in flight.
func (q *question) cancelled(context.Context) ruling {
	if !q.e.Moving(q.move.PodUID) && !q.evictions.DryRun() {
		return refusing(reasons.MoveCancelled)
	}
	return ruling{}
}

// unmeasured refuses to judge a move by unknown usage. It does not apply to moves of
// descheduler plugins, which do not judge by usage.
func (q *question) unmeasured(context.Context) ruling {
	q.latest = q.e.config.Observer.Latest()
	if q.move.Plugin != "" && !q.e.measures(q.latest, q.move) {
		q.latest = nil
		return ruling{}
	}
	if q.latest == nil || q.latest.Blocked != "" {
		return refusing(reasons.UsageDataInsufficient)
	}
	snapshot := q.latest.View.Snapshot
	q.from, q.to = snapshot.Index(q.move.From), snapshot.Index(q.move.To)
	switch {
	case q.to < 0:
		return refusing(reasons.LandingGone)
	case q.from < 0 || !q.latest.View.Nodes[q.from].Known():
		return refusing(reasons.SourceUsageUnknown)
	}
	return ruling{}
}

// measures reports whether an observation contains the usage of a move's nodes.
func (e *Evictor) measures(latest *observer.Observation, move *Move) bool {
	if latest == nil || latest.Blocked != "" {
		return false
	}
	for _, node := range []string{move.From, move.To} {
		if i := latest.View.Snapshot.Index(node); i < 0 || !latest.View.Nodes[i].Known() {
			return false
		}
	}
	return true
}

// relieved refuses a move off a node that no longer needs relief.
func (q *question) relieved(context.Context) ruling {
	switch {
	case q.move.Reason == reasons.NodeHotAhead || !q.move.Reason.Relieves():
		return ruling{}
	case q.move.Reason == reasons.NodeFull && !isFull(q.latest, q.from), !q.e.stillHot(q.evictions.Evicted, q.latest, q.from, q.move.Wanted):
		return refusing(reasons.SourceNoLongerHot)
	}
	return ruling{}
}

// busy refuses to move a pod ahead of time while it uses more than in its quiet hours.
func (q *question) busy(context.Context) ruling {
	if q.move.Reason == reasons.NodeHotAhead && float64(q.usesNow()[cluster.CPU]) > q.move.QuietMilliCores {
		return refusing(reasons.PodBusy)
	}
	return ruling{}
}

// tooHot refuses a move whose destination would become too hot.
func (q *question) tooHot(context.Context) ruling {
	if q.latest != nil && !q.e.lands(q.latest, q.to, q.move, q.usesNow()) {
		return refusing(reasons.LandingGone)
	}
	return ruling{}
}

func (q *question) usesNow() cluster.Amounts { return usesNow(q.latest.View, q.from, q.move) }

// unsafe asks the safeguards.
func (q *question) unsafe(context.Context) ruling {
	reason, detail := q.e.allowance().Refuse(&q.move.Intent)
	return ruling{reason: reason, detail: detail}
}

// scaledDown refuses a pod of an owner that was scaled down since the cycle began,
// because the plan was made with a different scale.
func (q *question) scaledDown(context.Context) ruling {
	if q.ownedBy().Shrunk.After(q.execution.began) {
		return refusing(reasons.OwnerJustScaled)
	}
	return ruling{}
}

// unreplacedIn returns the pods of a namespace whose replacements no quota counts yet.
func (e *Evictor) unreplacedIn(namespace string) (pods []*v1.Pod) {
	if len(e.config.Cluster.Quotas(namespace)) == 0 {
		return nil
	}
	moves := e.ledger().InFlight()
	for i := range moves {
		m := &moves[i]
		if m.Namespace != namespace {
			continue
		}
		if pod := incoming.Replaced(e.config.Cluster, m); pod != nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// rejected asks kube-scheduler's filters whether the destination accepts the replacement
// in the current cluster. A refusal is final only if none of the owner's replacements is
// waiting for a node, because spread constraints count replacements, and the plan assumed
// that they have landed.
func (q *question) rejected(ctx context.Context) ruling {
	x := q.execution
	if x.session == nil {
		session, err := q.e.Session(ctx, nil)
		if err != nil {
			klog.FromContext(ctx).Error(err, "Checking a destination failed", "node", q.move.To)
			return refusing(reasons.LandingGone)
		}
		x.session = session
	}
	result := x.session.Fits(q.pod, q.move.To)
	switch {
	case result.OK:
		return ruling{}
	case q.e.unplaced(q.move):
		return ruling{wait: true}
	}
	klog.FromContext(ctx).V(2).Info("Destination no longer takes the pod", "pod", klog.KObj(q.pod), "node", q.move.To,
		"plugin", result.Plugin, "reason", result.Reason)
	return refusing(reasons.LandingGone)
}

// closeSession ends the what-if session, so that others can use kube-scheduler's filters.
func (x *Execution) closeSession() {
	if x.session != nil {
		x.session.Close()
		x.session = nil
	}
}

// unplaced reports whether the replacement of one of the owner's evicted pods has not
// landed yet.
func (e *Evictor) unplaced(move *Move) bool {
	return slices.ContainsFunc(e.ledger().MovesOf(move.Namespace, move.Owner.UID), func(m ledger.Move) bool {
		return m.InFlight() && !m.Evicted.IsZero()
	})
}

// usesNow returns a pod's planned usage or, if that is higher, its current usage.
func usesNow(view *usage.View, from int, move *Move) cluster.Amounts {
	for j, pod := range view.Snapshot.Nodes[from].Pods {
		if pod.UID == move.PodUID {
			return move.Usage.Plus(view.Nodes[from].Pods[j].Used.Minus(move.Usage).AtLeastZero())
		}
	}
	return move.Usage
}

// lands reports whether a destination still takes the pod.
func (e *Evictor) lands(latest *observer.Observation, to int, move *Move, arriving cluster.Amounts) bool {
	node := &latest.View.Snapshot.Nodes[to].Node
	_, known := latest.Board.Predicted(cluster.NodeIndex(to))
	if !known || node.Closed() != "" {
		return false
	}
	if e.Moving(move.PodUID) {
		arriving = cluster.Amounts{} // its reservation is already part of the prediction
	}
	return latest.Board.LandsUpTo(cluster.NodeIndex(to), arriving, move.CeilingMilliCores)
}

// stillHot reports whether a node is still above its evict line without the pods that
// were evicted or have left since the observation. If wanted is true and the node is
// full, it adds the unserved demand of the pods that stay.
func (e *Evictor) stillHot(evicted func(podUID string) bool, latest *observer.Observation, node int, wanted bool) bool {
	info, read := latest.View.Snapshot.Nodes[node], &latest.View.Nodes[node]
	var left cluster.Amounts
	var stay []strategies.Pod
	wanted = wanted && isFull(latest, node)
	for j, pod := range info.Pods {
		now := e.config.Cluster.Pod(pod.Namespace, pod.Name)
		stays := !evicted(pod.UID) && !gone(now, pod.UID)
		switch {
		case pod.Terminating, stays && !wanted:
		case stays:
			refused, _ := e.Protection(now)
			stay = append(stay, strategies.Pod{Pod: pod, Usage: read.Pods[j].Used, PeakMilliCores: read.Pods[j].PeakMilliCores, Refused: refused})
		default:
			left = left.Plus(read.Pods[j].Counted())
		}
	}
	left[cluster.CPU] -= strategies.EstimateUnserved(stay) // the pods that stay will use what the others leave
	return latest.Lines.Need(node, left).Exceeds(cluster.Amounts{})
}

// isFull reports whether a node's CPU demand exceeds its capacity.
func isFull(latest *observer.Observation, node int) bool {
	return strategies.Full(&latest.View.Snapshot.Nodes[node].Node, latest.View.Nodes[node].Whole(usage.AtAvg5m))
}

// used returns a node's measured usage; zero if unknown.
func (e *Evictor) used(node string) cluster.Amounts {
	latest, i := e.find(node)
	if i < 0 || !latest.View.Nodes[i].Known() {
		return cluster.Amounts{}
	}
	return current(latest.View, i)
}

// current returns a node's measured usage without the pods that have left since the
// measurement.
func current(view *usage.View, node int) cluster.Amounts {
	return view.Nodes[node].Current[usage.AtAvg5m]
}
