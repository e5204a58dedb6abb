package evictor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/evictor/incoming"
	"github.com/evenkeel/evenkeel/evictor/metrics"
	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// Observe returns the newest observation in the form that strategies need for planning.
func (e *Evictor) Observe() strategies.Observed {
	latest, now, allowance := e.config.Observer.Latest(), e.config.Clock.Now(), e.allowance()
	inFlight, ended := e.ledger().Moves()
	observed := strategies.Observed{
		Closed: string(reasons.NoUsageData), MaxMoves: allowance.Left(), Beside: alongside(allowance), Pace: e.pace,
		Begun: incoming.Begun(inFlight, ended, now), Moved: incoming.Moved(ended, now),
		Relieved:  incoming.Relieved(inFlight, ended, now),
		JustMoved: incoming.MovedWithin(e.config.Settings.Safeguards.Cooldown(), ended, now),
	}
	if reason, detail := allowance.Closed(); reason != "" {
		observed.Held = fmt.Sprintf("%s: %s", reason, detail)
	}
	if latest == nil {
		observed.Coming = incoming.Arrivals(inFlight, ended, now)
		return observed
	}
	observed.View, observed.Board, observed.States, observed.Lines = latest.View, latest.Board, latest.States, latest.Lines
	observed.Closed, observed.Coming = cmp.Or(latest.Closed(), observed.Held), incoming.Arrivals(inFlight, ended, latest.View.At)
	return observed
}

// alongside returns a function that asks the verdict about a pod, given the numbers of
// moves that a plan already contains.
func alongside(v *safeguards.Verdict) func(*cluster.Pod, int, int) (reasons.Reason, string) {
	return func(pod *cluster.Pod, ofOwner, ofNamespace int) (reasons.Reason, string) {
		return v.Beside(safeguards.Whose{Namespace: pod.Namespace, OwnerUID: pod.Owner.UID}, ofOwner, ofNamespace)
	}
}

// Moves adds to the moves of a plan the information that is needed to make them for a
// profile.
func (e *Evictor) Moves(p *strategies.Plan, profile *strategies.Profile) []Move {
	set, moves := &e.config.Settings, make([]Move, 0, len(p.Moves))
	for i := range p.Moves {
		m := &p.Moves[i]
		pod, owner, unready := e.config.Cluster.Pod(m.Namespace, m.Name), owners.Owner{}, false
		if pod == nil {
			pod = &v1.Pod{}
		} else {
			owner, unready = e.config.Cluster.Owner(pod), unreadyOrCrashes(pod, e.config.Clock.Now())
		}
		margin := set.MoveTTL + owner.Backoff
		move := Move{
			Intent: ledger.Intent{
				Pool: e.pool(m.From), FromUsed: e.used(m.From),
				Namespace: m.Namespace, Pod: m.Name, PodUID: m.UID, Owner: m.Owner, TemplateHash: m.TemplateHash,
				Usage: m.Usage, From: m.From, To: m.To, Plugin: m.Plugin, Relieves: m.Plugin == "" && m.Reason.Relieves(), CeilingMilliCores: m.CeilingMilliCores, Wait: set.Deadline,
				TTL: grace(pod, &metav1.DeleteOptions{GracePeriodSeconds: set.GracePeriodSeconds}) + margin, Margin: margin,
				Unready:  unready,
				Decision: e.decision(m, profile),
			},
			Reason: m.Reason, Wanted: m.Unserved > 0 || m.Reason == reasons.NodeFull,
		}
		if m.Ahead != nil {
			move.QuietMilliCores = m.Pattern.Mean()
		}
		moves = append(moves, move)
	}
	return moves
}

func (e *Evictor) decision(m *strategies.Move, profile *strategies.Profile) *ledger.Decision {
	var evidence []thresholds.Evidence
	if latest := e.config.Observer.Latest(); latest != nil {
		evidence = latest.Lines.EvidenceOf(m.From)
	}
	d := m.Decision(evidence)
	d.Plugin, d.Policy, d.Cycle = profile.Strategy, e.config.Settings.Policy, e.CycleID()
	return d.Bound()
}

// A container is expected to crash again if it was restarted at least crashes times, the
// last time within crashedLately. The kubelet waits at most five minutes before a
// restart.
const (
	crashes       = 3
	crashedLately = time.Hour
)

// unreadyOrCrashes reports whether a pod is unready or crashing. If its replacement is,
// too, this proves nothing about the move. Some descheduler plugins evict pods because of
// this state.
func unreadyOrCrashes(pod *v1.Pod, now time.Time) bool {
	return !podutil.IsPodReady(pod) || slices.ContainsFunc(pod.Status.ContainerStatuses, func(c v1.ContainerStatus) bool {
		return c.RestartCount >= crashes && (c.State.Running == nil || now.Sub(c.State.Running.StartedAt.Time) < crashedLately)
	})
}

// maxGrace limits how much of a grace period counts. Anyone who creates a pod can choose
// the period freely, and the ledger keeps no move for more than a week.
const maxGrace = 24 * time.Hour

// grace returns how much time a pod has to terminate.
func grace(pod *v1.Pod, options *metav1.DeleteOptions) time.Duration {
	seconds := int64(v1.DefaultTerminationGracePeriodSeconds)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		seconds = *pod.Spec.TerminationGracePeriodSeconds
	}
	if options != nil && options.GracePeriodSeconds != nil {
		seconds = *options.GracePeriodSeconds
	}
	return time.Duration(min(max(seconds, 0), int64(maxGrace/time.Second))) * time.Second
}

// unplanned returns the move for an eviction by an upstream plugin. It has no destination
// yet.
func (e *Evictor) unplanned(pod *v1.Pod, eviction *policyv1.Eviction) Move {
	record, margin, why := informed.Pod(pod), e.config.Settings.MoveTTL+e.config.Cluster.Owner(pod).Backoff, eviction.Annotations["reason"]
	plugin, _ := metrics.AskedBy(why)
	return Move{ByItself: true, Intent: ledger.Intent{
		Namespace: pod.Namespace, Pod: pod.Name, PodUID: string(pod.UID), Owner: record.Owner, TemplateHash: record.TemplateHash,
		From: pod.Spec.NodeName, TTL: grace(pod, eviction.DeleteOptions) + margin, Margin: margin,
		Unready: unreadyOrCrashes(pod, e.config.Clock.Now()),
		// The framework states which plugin of which profile evicts the pod, and why.
		Decision: ledger.Decision{Plugin: plugin, Message: why, Policy: e.config.Settings.Policy, Cycle: e.CycleID()}.Bound(),
	}}
}
