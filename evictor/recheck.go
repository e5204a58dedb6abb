package evictor

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/incoming"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/usage"
)

// Allow is the last check of an eviction before its call. It covers those of
// upstream plugins, which name no destination and judge readiness themselves.
func (e *Evictor) Allow(intent *ledger.Intent) (reason reasons.Reason, detail string) {
	if reason, detail = e.allowance().Refuse(intent); reason != "" {
		return reason, detail
	}
	pod := e.config.Cluster.Pod(intent.Namespace, intent.Pod)
	if intent.To == "" || pod == nil {
		return "", ""
	}
	owner, budgets := e.config.Cluster.Owner(pod), e.config.Cluster.Budgets(pod)
	if reason, detail = e.protected(pod, &owner); reason != "" {
		return reason, detail
	}
	n := e.tallyOf(pod)
	if reason = owner.Recreates(pod, n); reason == "" {
		reason = e.refuseByAvailability(pod, &owner, n, budgets, surges(pod, &owner) != "")
	}
	return reason, reason.Sentence()
}

// recheckOwner is Refuse just before the call, on the newest facts. An owner
// that was scaled down since the cycle began is not the one that was planned
// with.
func (c *Cycle) recheckOwner(pod *v1.Pod, surge bool) reasons.Reason {
	owner := c.config.Cluster.Owner(pod)
	reason := c.refuseNow(pod, &owner, c.rememberedTally(pod), surge)
	switch {
	case reason != "":
		return reason
	case owner.Shrunk.After(c.began):
		return reasons.OwnerJustScaled
	}
	return c.refuseByQuota(pod, c.unreplacedIn(pod.Namespace)...)
}

// unreplacedIn returns the pods of a namespace whose replacements no quota counts
// yet.
func (c *Cycle) unreplacedIn(namespace string) (pods []*v1.Pod) {
	if len(c.config.Cluster.Quotas(namespace)) == 0 {
		return nil
	}
	moves := c.ledger().InFlight()
	for i := range moves {
		m := &moves[i]
		if m.Namespace != namespace {
			continue
		}
		pod := incoming.Replaced(c.config.Cluster, m)
		if m.Surging() && m.Replacement == "" {
			pod = c.config.Cluster.Pod(namespace, m.Pod)
		}
		if pod != nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

// accepts reports whether kube-scheduler's filters accept the pod's replacement
// on its destination, as the cluster is now. The answer waits while another
// replacement of the owner has no node yet: spread constraints count it, and
// the plan was made with it.
func (c *Cycle) accepts(ctx context.Context, pod *v1.Pod, move *Move) (reason reasons.Reason, wait bool) {
	if c.session == nil {
		session, err := c.Session(ctx)
		if err != nil {
			klog.FromContext(ctx).Error(err, "Checking a destination failed", "node", move.To)
			return reasons.LandingGone, false
		}
		c.session = session
	}
	result := c.session.Fits(pod, move.To)
	if result.OK {
		return "", false
	}
	if c.unplaced(move) {
		return "", true
	}
	klog.FromContext(ctx).V(2).Info("Destination no longer takes the pod", "pod", klog.KObj(pod), "node", move.To,
		"plugin", result.Plugin, "reason", result.Reason)
	return reasons.LandingGone, false
}

// closeSession lets others use kube-scheduler's filters.
func (c *Cycle) closeSession() {
	if c.session != nil {
		c.session.Close()
		c.session = nil
	}
}

// unplaced reports whether an evicted pod of a move's owner has no replacement
// on a node yet.
func (c *Cycle) unplaced(move *Move) bool {
	return slices.ContainsFunc(c.ledger().MovesOf(move.Namespace, move.Owner.UID), func(m ledger.Move) bool {
		return m.InFlight() && !m.Evicted.IsZero()
	})
}

// recheck returns why a planned move should no longer be made, by what is known
// just before its call.
func (e *Evictor) recheck(move *Move) reasons.Reason {
	latest := e.config.Observer.Latest()
	if latest == nil || latest.Blocked != "" {
		return reasons.UsageDataInsufficient
	}
	snapshot := latest.View.Snapshot
	from, to := snapshot.Index(move.From), snapshot.Index(move.To)
	ahead := move.Reason == reasons.NodeHotAhead
	switch {
	case to < 0:
		return reasons.LandingGone
	case from < 0 || !latest.View.Nodes[from].Known():
		return reasons.SourceUsageUnknown
	case move.Reason == reasons.NodeFull && !isFull(latest, from), !ahead && !e.stillHot(latest, from, move.Wanted):
		return reasons.SourceNoLongerHot
	case ahead && float64(usesNow(latest.View, from, move)[cluster.CPU]) > move.QuietMilliCores:
		return reasons.PodBusy
	case !e.lands(latest, to, move, usesNow(latest.View, from, move)):
		return reasons.LandingGone
	}
	reason, _ := e.allowance().Refuse(&move.Intent)
	return reason
}

// usesNow returns what a pod uses: as planned, or more by now.
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
		arriving = cluster.Amounts{} // its reservation is part of the prediction
	}
	return latest.Board.LandsUpTo(cluster.NodeIndex(to), arriving, move.CeilingMilliCores)
}

// stillHot reports whether a node is above its evict line without the pods that
// were evicted or left since the observation; for what is moved because pods want
// more than a full node has, by what those want that stay.
func (e *Evictor) stillHot(latest *observer.Observation, node int, wanted bool) bool {
	info, read := latest.View.Snapshot.Nodes[node], &latest.View.Nodes[node]
	var left cluster.Amounts
	var stay []strategies.Pod
	wanted = wanted && isFull(latest, node)
	for j, pod := range info.Pods {
		now := e.config.Cluster.Pod(pod.Namespace, pod.Name)
		stays := !e.config.Evictions.Evicted(pod.UID) && !gone(now, pod.UID)
		switch {
		case pod.Terminating, stays && !wanted:
		case stays:
			refused, _ := e.Protection(now)
			stay = append(stay, strategies.Pod{Pod: pod, Usage: read.Pods[j].Used, PeakMilliCores: read.Pods[j].PeakMilliCores, Refused: refused})
		default:
			left = left.Plus(read.Pods[j].Used)
		}
	}
	left[cluster.CPU] -= strategies.EstimateUnserved(stay) // they take what the others leave
	return latest.Lines.Need(node, left).Exceeds(cluster.Amounts{})
}

// isFull reports whether a node is asked for more CPU than it has.
func isFull(latest *observer.Observation, node int) bool {
	return strategies.Full(&latest.View.Snapshot.Nodes[node].Node, latest.View.Nodes[node].Whole(usage.AtAvg5m))
}

// used returns a node's measured usage; zero if not known.
func (e *Evictor) used(node string) cluster.Amounts {
	latest, i := e.find(node)
	if i < 0 || !latest.View.Nodes[i].Known() {
		return cluster.Amounts{}
	}
	return current(latest.View, i)
}

// current returns a node's measured usage without pods that have left since.
func current(view *usage.View, node int) cluster.Amounts {
	return view.Nodes[node].Current[usage.AtAvg5m]
}
