package evictor

import (
	"cmp"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

const (
	// betweenCycles is the time between cycles if Settings.NextCycle is nil.
	betweenCycles = 5 * time.Minute
	// startsWithin is the expected time until a replacement is ready if its predecessor
	// took less than a minute, because such short times are not recorded.
	startsWithin = 20 * time.Second
)

// pace returns how long moves take, by the nodes that they leave.
func (e *Evictor) pace(moves []strategies.Move, perCycle, perNode int) map[string]strategies.Relief {
	now, facts := e.config.Clock.Now(), safeguards.Facts{Pods: e.census()}
	facts.InFlight, facts.Ended = e.ledger().Moves()
	queue := safeguards.Queue{
		Interval: e.config.Settings.Interval, Deadline: e.config.Settings.Deadline, PerCycle: perCycle, PerNode: perNode, Next: e.nextCycle,
	}
	if calendar := e.config.Settings.Calendar; calendar != nil {
		queue.Open = calendar.Open
	}
	landed, groups, known := landedIn(facts.Ended), map[ownerKey]string{}, map[string]safeguards.Queued{}
	for i := range moves {
		m := &moves[i]
		q := safeguards.Queued{}
		if pod := e.config.Cluster.Pod(m.Namespace, m.Name); pod != nil {
			owner, of := e.config.Cluster.Owner(pod), ownerKey{pod.Namespace, types.UID(controllerUID(pod))}
			group, asked := groups[of]
			if !asked { // siblings have the same budgets
				budgets := e.config.Cluster.Budgets(pod)
				group = sharing(pod, budgets)
				groups[of] = group
				if _, asked = known[group]; !asked {
					known[group] = e.atOnce(pod, &owner, budgets)
				}
			}
			q = known[group]
			q.Group, q.Takes = group, e.takes(pod, &owner, landed)
		}
		q.Intent = ledger.Intent{Namespace: m.Namespace, Pod: m.Name, PodUID: m.UID, Owner: m.Owner, From: m.From, To: m.To, Pool: e.pool(m.From)}
		queue.Moves = append(queue.Moves, q)
	}
	reliefs := map[string]strategies.Relief{}
	for node, p := range e.config.Settings.Safeguards.Pace(facts, &queue, now) {
		reliefs[node] = strategies.Relief{
			Moves: p.Moves, ThisCycle: p.Now, Takes: p.Last.Sub(now), Longer: p.Later, Bound: p.Bound.Reason, Limit: p.Bound.Limit, Left: p.Bound.Left,
			Between: e.nextCycle(now).Sub(now),
		}
	}
	return reliefs
}

func (e *Evictor) nextCycle(ended time.Time) time.Time {
	if e.config.Settings.NextCycle != nil {
		if next := e.config.Settings.NextCycle(ended); next.After(ended) {
			return next
		}
	}
	return ended.Add(betweenCycles)
}

// sharing identifies the pods of which only a few may be away at once: those of a budget
// or, if there is none, of an owner.
func sharing(pod *v1.Pod, budgets []*policyv1.PodDisruptionBudget) string {
	if len(budgets) > 0 {
		return "budget " + budgets[0].Namespace + "/" + budgets[0].Name
	}
	return "owner " + pod.Namespace + "/" + controllerUID(pod)
}

// mostAtOnce exceeds the number of moves in any cycle.
const mostAtOnce = 500

// atOnce determines how many of the pods that share a limit with the given pod may be
// away at once, and why not more. To find out, it asks about the pod as if that many of
// its siblings were away.
func (e *Evictor) atOnce(pod *v1.Pod, owner *owners.Owner, budgets []*policyv1.PodDisruptionBudget) (q safeguards.Queued) {
	none, now := e.rememberedTally(pod), e.config.Clock.Now()
	others := none.Available
	if owner.Available(pod, now) {
		others--
	}
	var siblings []*v1.Pod
	if owner.Ordered { // for an ordered owner, it matters which pods are away
		siblings = e.config.Cluster.Siblings(pod)
	}
	refused := func(away int) reasons.Reason {
		less, n := withAway(budgets, away), none.WithAway(min(away, others))
		if owner.Ordered {
			n = owner.Count(siblings, e.firstAway(siblings, pod, owner, away), now)
		}
		return cmp.Or(refuseByBudgets(less), owner.Recreates(pod, n), e.refuseByAvailability(pod, owner, n, less))
	}
	q.AtOnce = sort.Search(min(none.Available+none.Missing, mostAtOnce), func(away int) bool { return refused(away) != "" })
	q.Reason = refused(q.AtOnce)
	return q
}

// firstAway returns a function that reports whether a pod is leaving, assuming that the
// given number of the pod's available siblings leave.
func (e *Evictor) firstAway(siblings []*v1.Pod, pod *v1.Pod, owner *owners.Owner, away int) func(uid string) bool {
	leaving := map[string]bool{}
	for _, sibling := range siblings {
		if len(leaving) < away && sibling.UID != pod.UID && owner.Available(sibling, e.config.Clock.Now()) {
			leaving[string(sibling.UID)] = true
		}
	}
	return func(uid string) bool { return leaving[uid] || e.ledger().Leaving(uid) }
}

// withAway returns copies of the budgets with the status that they have while the given
// number of their pods are away.
func withAway(budgets []*policyv1.PodDisruptionBudget, away int) []*policyv1.PodDisruptionBudget {
	less := make([]*policyv1.PodDisruptionBudget, len(budgets))
	for i, budget := range budgets {
		with := *budget
		with.Status.DisruptionsAllowed -= int32(away)
		less[i] = &with
	}
	return less
}

// takes returns how long a pod's move is expected to take until its replacement is
// available: the time that the owner's last move took to land, plus the time that the pod
// itself took to become ready.
func (e *Evictor) takes(pod *v1.Pod, owner *owners.Owner, landed map[ownerKey]time.Duration) time.Duration {
	lands, known := landed[ownerKey{pod.Namespace, types.UID(controllerUID(pod))}]
	if !known && owner.Waits {
		lands = grace(pod, nil)
	}
	return lands + max(strategies.StartedIn(pod), startsWithin) + owner.MinReady
}

// landedIn returns how long after its eviction the last move of each owner landed.
func landedIn(ended []ledger.Move) map[ownerKey]time.Duration {
	took := map[ownerKey]time.Duration{}
	for i := range ended {
		if m := &ended[i]; m.State == ledger.Landed && !m.Evicted.IsZero() && m.Ended.After(m.Evicted) {
			took[ownerKey{m.Namespace, types.UID(m.Owner.UID)}] = m.Ended.Sub(m.Evicted)
		}
	}
	return took
}
