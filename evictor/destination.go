package evictor

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/strategies"
)

// Place finds where kube-scheduler would put the replacement of a pod that an upstream
// plugin evicts by itself.
type Place func(ctx context.Context, pod *v1.Pod) (strategies.Destination, error)

// aim gives the eviction that an upstream plugin asks for by itself a destination, if
// there is one. It then records the move, so that the replacement is steered there. The
// destination is only a preference: the pod is evicted in any case.
func (q *question) aim(ctx context.Context) {
	e, move := q.e, q.move
	if e.Moving(move.PodUID) {
		return
	}
	to, err := q.place(ctx, q.pod)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Finding a destination failed, so the pod is evicted without one", "pod", klog.KObj(q.pod))
		to = strategies.Destination{None: "finding one failed"}
	}
	q.destination = to
	decision, words := *move.Decision, ". No destination: "+to.None
	if to.Node != "" {
		words = ". Planned destination: " + to.Node
		move.To, move.Usage, move.Plugin, move.Pool, move.FromUsed = to.Node, to.Usage, decision.Plugin, e.pool(move.From), e.used(move.From)
	}
	decision.Message = strings.TrimPrefix(strings.TrimRight(decision.Message, ".: ")+words, ". ") + "."
	move.Decision = decision.Bound()
	if move.To != "" && !q.evictions.DryRun() {
		e.ledger().Record(e.config.Clock.Now(), move.Intent)
		e.steer(ctx, move, q.pod)
	}
}

// steer prepares the steering of a replacement as far as that is possible at once,
// because the eviction waits for nothing.
func (e *Evictor) steer(ctx context.Context, move *Move, pod *v1.Pod) {
	if !e.steers(ctx) {
		return
	}
	leaving := &ledger.Leaving{Intent: &move.Intent, Pod: pod}
	if e.config.Steering.Restricts(leaving) {
		leaving.Nodes = e.landings(ctx, move, pod)
	}
	if reason, waits := e.config.Steering.Ready(ctx, leaving); reason != "" || waits {
		klog.FromContext(ctx).V(2).Info("Replacement is not steered", "pod", klog.KObj(pod), "destination", move.To, "reason", reason, "anotherComesFirst", waits)
	}
}

// steers reports whether replacements can be steered in this cycle.
func (e *Evictor) steers(ctx context.Context) bool {
	if e.config.Steering == nil {
		return false
	}
	e.mu.Lock()
	asked, steers := e.steeringAsked, e.steering
	e.mu.Unlock()
	if asked {
		return steers
	}
	_, err := e.config.Steering.Proven(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.steeringAsked, e.steering = true, err == nil
	return e.steering
}

// forgo takes back what aim has recorded and prepared for an eviction that was not made.
func (q *question) forgo(ctx context.Context) {
	e, move := q.e, q.move
	if q.destination.Node == "" || q.evictions.DryRun() {
		return
	}
	e.ledger().Cancel(move.PodUID, e.config.Clock.Now())
	if e.config.Steering != nil && !e.ledger().Leaving(move.PodUID) {
		e.config.Steering.Undo(ctx, &move.Intent)
	}
}
