package evictor

import (
	"context"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// The gate answers one question: may this pod be evicted now? It is an ordered list of
// checks that run in several phases on the way to an eviction.

// phase is a point in time at which the gate is asked. A check may belong to several
// phases.
type phase uint8

const (
	// planPhase is the phase in which a strategy asks about each pod of a node that has
	// to be relieved.
	planPhase phase = 1 << iota
	// recheckPhase is the phase in which a cycle asks about a planned move just before
	// making it, and again after each wait.
	recheckPhase
	// callPhase is the phase immediately before the eviction call of a planned move.
	callPhase
	// unplannedPhase is callPhase for an upstream plugin that evicts by itself. It has
	// selected the pod by its own rules.
	unplannedPhase
)

// check is one rule that keeps pods where they are.
type check struct {
	// name states the condition that must hold.
	name   string
	phases phase
	refuse func(*question, context.Context) ruling
}

// checks holds the rules in the order in which they run. The first one that refuses
// determines the reason. Cheap and specific checks come first. To add a rule, add an
// element and its function.
var checks = []check{
	{"the framework's limits are not reached", recheckPhase | callPhase | unplannedPhase, (*question).limited},
	{"this process may evict", callPhase | unplannedPhase, (*question).forbidden},
	{"the pod is still as planned", callPhase | unplannedPhase, (*question).changed},
	{"replacements in the namespace are steered", recheckPhase, (*question).unsteered},
	{"the pod still exists", recheckPhase, (*question).gone},
	{"the move is not cancelled", recheckPhase, (*question).cancelled},
	{"the usage of both nodes is known", recheckPhase, (*question).unmeasured},
	{"the source still has to be relieved", recheckPhase, (*question).relieved},
	{"a pod moved ahead of time is quiet", recheckPhase, (*question).busy},
	{"the destination stays below its line", recheckPhase, (*question).tooHot},
	{"the safeguards allow the eviction", recheckPhase | callPhase | unplannedPhase, (*question).unsafe},
	{"nothing empties the pod's node", planPhase, (*question).emptied},
	{"it is no static pod", planPhase, (*question).static},
	{"it is no pod of a DaemonSet", planPhase, (*question).ofDaemonSet},
	{"it has a controller", planPhase, (*question).uncontrolled},
	{"the policy lets pods of its kind go", planPhase, (*question).ofJob},
	{"its scheduler is steered", planPhase, (*question).scheduledByOthers},
	{"the strategy is about its namespace", planPhase, (*question).spared},
	{"what it uses is known", planPhase, (*question).unread},
	{"the pod is not leaving already", planPhase | recheckPhase, (*question).leaving},
	{"nothing protects the pod", planPhase | recheckPhase | callPhase, (*question).protected},
	{"its budget has room", planPhase | recheckPhase, (*question).overBudget},
	{"its owner is at rest", planPhase | recheckPhase, (*question).restless},
	{"its owner will replace it", planPhase | recheckPhase | callPhase, (*question).irreplaceable},
	{"enough pods of its owner are available", planPhase | recheckPhase | callPhase, (*question).unavailable},
	{"its owner was not scaled down", recheckPhase, (*question).scaledDown},
	{"quotas admit its replacement", planPhase | recheckPhase, (*question).overQuota},
	{"earlier moves have settled", planPhase, (*question).unsettled},
	{"the API server may be asked again", recheckPhase, (*question).backingOff},
	{"the destination accepts the pod", recheckPhase, (*question).rejected},
	{"the profile's filters let the pod go", planPhase | callPhase, (*question).filtered},
	{"its pre-eviction filters let the pod go", planPhase | callPhase, (*question).filteredLate},
}

// ruling is the result of a check. The zero value does not object.
type ruling struct {
	reason reasons.Reason
	detail string
	// err is the error behind the reason, if the refusal does not come from one of our
	// own rules.
	err error
	// wait reports whether the answer may change soon. The reason may then be empty.
	wait bool
}

func refusing(reason reasons.Reason) ruling { return ruling{reason: reason} }

func (r ruling) refuses() bool { return r.reason != "" || r.wait }

func (r ruling) error() error {
	if r.err != nil || r.reason == "" {
		return r.err
	}
	return &reasons.Refusal{Reason: r.reason, Detail: r.detail}
}

// question is the question about one pod in one phase. Its methods look up what checks
// need, and cache the results.
type question struct {
	e  *Evictor
	at phase
	// pod is the pod in the watch; nil if it no longer exists. Before a call it is read
	// again.
	pod *v1.Pod
	// candidate is the pod that a strategy asks about; nil in later phases.
	candidate *strategies.Candidate
	// profile is the profile for which the pod is moved; nil for an upstream plugin that
	// evicts by itself, whose own profile has already allowed the eviction.
	profile *strategies.Profile
	// move and execution are nil while planning; execution is also nil for an upstream
	// plugin that evicts by itself.
	move      *Move
	execution *Execution
	// evictions makes the eviction; nil while planning.
	evictions Evictions
	// eviction is the request for the API server; nil before the call.
	eviction *policyv1.Eviction
	// place finds a destination for a pod that an upstream plugin evicts by itself, which is
	// destination once the gate has let the pod go.
	place       Place
	destination strategies.Destination

	known    bool // whether owner is set
	owner    owners.Owner
	budgeted bool // whether budgets are set
	budgets  []*policyv1.PodDisruptionBudget
	// latest is the newest observation. from and to are the indexes of source and
	// destination in it. The check that usage is known sets them for the checks after it.
	latest   *observer.Observation
	from, to int
}

// ask runs the checks of the question's phase.
func (q *question) ask(ctx context.Context, checks []check) ruling {
	for i := range checks {
		if checks[i].phases&q.at == 0 {
			continue
		}
		if a := checks[i].refuse(q, ctx); a.refuses() {
			return a
		}
	}
	return ruling{}
}

// ownedBy returns the pod's controller.
func (q *question) ownedBy() *owners.Owner {
	if !q.known {
		q.known, q.owner = true, q.e.config.Cluster.Owner(q.pod)
	}
	return &q.owner
}

// budgetsOf returns the PodDisruptionBudgets that select the pod.
func (q *question) budgetsOf() []*policyv1.PodDisruptionBudget {
	if !q.budgeted {
		q.budgeted, q.budgets = true, q.e.config.Cluster.Budgets(q.pod)
	}
	return q.budgets
}

// tally counts the pods of the pod's owner. Just before the call, nothing cached is used.
func (q *question) tally() owners.Tally {
	if q.at == callPhase {
		return q.e.tallyOf(q.pod)
	}
	return q.e.rememberedTally(q.pod)
}

// Refuse returns why plans for a profile must not move a pod; empty if they may.
func (e *Evictor) Refuse(ctx context.Context, pod *strategies.Candidate, profile *strategies.Profile) reasons.Reason {
	q := question{e: e, at: planPhase, pod: pod.Object, candidate: pod, profile: profile}
	return q.ask(ctx, checks).reason
}
