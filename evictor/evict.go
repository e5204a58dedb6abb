package evictor

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"

	"github.com/evenkeel/evenkeel/evictor/metrics"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// Limits holds the maximum numbers of pods that the DeschedulerPolicy allows to be
// evicted in one cycle, regardless of which plugin evicts them; nil means unlimited.
type Limits struct{ Total, PerNode, PerNamespace *uint }

// evictUnplanned evicts a pod for an upstream plugin that evicts by itself. place finds a
// destination for its replacement.
func (e *Evictor) evictUnplanned(ctx context.Context, eviction *policyv1.Eviction, dryRun bool, place Place) error {
	q := &question{
		e: e, at: unplannedPhase, evictions: e.evictionsOf(dryRun), move: &Move{},
		pod: e.config.Cluster.Pod(eviction.Namespace, eviction.Name), eviction: eviction, place: place,
	}
	q.move.Namespace, q.move.Pod = eviction.Namespace, eviction.Name
	if q.pod != nil {
		q.move.From = q.pod.Spec.NodeName
	}
	err := e.evict(ctx, q)
	if err != nil {
		q.forgo(ctx)
	}
	if e.config.Unplanned != nil && q.pod != nil {
		plugin, why := metrics.AskedBy(eviction.Annotations["reason"])
		e.config.Unplanned(&Unplanned{
			Pod: q.pod, Move: q.move, Plugin: plugin, Why: why, Destination: q.destination, Refused: reasonOf(err), DryRun: dryRun,
		})
	}
	return err
}

// Unplanned is an eviction that an upstream plugin asked for by itself.
type Unplanned struct {
	Pod  *v1.Pod
	Move *Move
	// Plugin is the plugin, and Why the reason that it gives; empty if it gives none.
	Plugin, Why string
	// Destination is where the replacement goes; empty if Refused is set.
	Destination strategies.Destination
	// Refused is why the eviction was not made; empty if it was made.
	Refused reasons.Reason
	// DryRun reports whether the plugin is in dry run.
	DryRun bool
}

// evict asks the gate one last time and then has the client make the call. All evictions
// of a cycle go through it.
func (e *Evictor) evict(ctx context.Context, q *question) error {
	err := q.ask(ctx, checks).error()
	if err == nil {
		if q.at == unplannedPhase {
			q.aim(ctx)
		} else if q.evictions.DryRun() {
			e.trial.Add(&q.move.Intent, e.config.Clock.Now())
		}
		err = q.evictions.Evict(ctx, q.pod, q.move, q.eviction)
	}
	reason := reasonOf(err)
	if slices.Contains([]reasons.Reason{reasons.EvictionLimit, reasons.ProtectedByDefaultEvictor, reasons.PreEvictionFilter}, reason) {
		return err // the policy forbids it, so it is not a failed attempt
	}
	e.config.Metrics.Evicted(q.eviction.Namespace, q.eviction.Annotations["reason"], reason, q.evictions.DryRun())
	if q.move.Plugin != "" && q.at == callPhase { // the framework counts the others
		metrics.Hosted(q.move.Namespace, q.move.From, q.profile.Name, q.move.Plugin, err)
	}
	if err != nil && q.at == callPhase && e.config.Settings.NotifyFailures { // the framework does this for upstream's plugins
		q.evictions.NotifyFailure(q.pod, err)
	}
	return err
}

// request returns the eviction of a planned move in the framework's format.
func (e *Evictor) request(move *Move, by *strategies.Profile) *policyv1.Eviction {
	return &policyv1.Eviction{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta: metav1.ObjectMeta{Namespace: move.Namespace, Name: move.Pod, Annotations: map[string]string{
			"reason": fmt.Sprintf("triggered by %s/%s: %s", by.Name, by.Strategy, move.Reason), "requested-by": "sigs.k8s.io/descheduler",
		}},
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: e.config.Settings.GracePeriodSeconds},
	}
}

// limited enforces the limits of the DeschedulerPolicy. Upstream's plugins recognize the
// errors of limited and continue with other nodes or namespaces.
func (q *question) limited(context.Context) ruling {
	limits, made := &q.e.config.Settings.Limits, q.evictions.Made(q.move.From, q.move.Namespace)
	reached := func(limit *uint, made uint) bool { return limit != nil && made >= *limit }
	var err error
	switch {
	case reached(limits.Total, made.Total):
		err = evictions.NewEvictionTotalLimitError()
	case q.move.From != "" && reached(limits.PerNode, made.OfNode):
		err = evictions.NewEvictionNodeLimitError(q.move.From)
	case reached(limits.PerNamespace, made.OfNamespace):
		err = evictions.NewEvictionNamespaceLimitError(q.move.Namespace)
	default:
		return ruling{}
	}
	return ruling{reason: reasons.EvictionLimit, err: err}
}

// forbidden checks whether this process may evict at all.
func (q *question) forbidden(ctx context.Context) ruling {
	err := q.evictions.Permits(ctx)
	return ruling{reason: reasonOf(err), err: err}
}

// changed reads the pod again, because the watch may show an earlier state. Later checks
// use the pod that was read.
func (q *question) changed(ctx context.Context) ruling {
	object, err := q.evictions.Read(ctx, q.move.Namespace, q.move.Pod)
	if err != nil {
		return ruling{reason: reasonOf(err), err: err}
	}
	q.pod = object
	if q.at == unplannedPhase {
		*q.move = q.e.unplanned(object, q.eviction)
		return ruling{}
	}
	return unchanged(object, q.move)
}

// filtered asks the profile's filters. While planning for a descheduler plugin it skips
// them, because the plugin has already asked them.
func (q *question) filtered(context.Context) ruling {
	if q.at == planPhase && q.profile.Hosted || q.profile.Filter(q.pod) {
		return ruling{}
	}
	return refusing(reasons.ProtectedByDefaultEvictor)
}

// filteredLate asks the profile's pre-eviction filters, unless a descheduler plugin has
// already asked them.
func (q *question) filteredLate(context.Context) ruling {
	if q.at == planPhase && q.profile.Hosted || q.profile.PreEvictionFilter(q.pod) {
		return ruling{}
	}
	return refusing(reasons.PreEvictionFilter)
}
