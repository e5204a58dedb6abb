// Package cycle runs cycles: observe, judge, plan, make, settle. Runner.Run runs one
// cycle, in which the policy's profiles take their turns. Evenkeel's strategies only
// plan, as does package hosted on behalf of some upstream plugins, and the evictor makes
// their moves. Other upstream plugins evict by themselves, as under upstream's own
// runner, but with Evenkeel's informers and clientset. Due determines when cycles run.
package cycle

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"sigs.k8s.io/descheduler/metrics"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"

	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/hosted"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// Executor makes the moves of plans.
type Executor interface {
	// Planned receives each strategy's plan before its moves are made, so that it can be
	// shown.
	Planned(ctx context.Context, by *plugin.Plugin, made *strategies.Made)
	// Make makes the moves of a plan and cleans up after them. In a dry run or a preview it
	// makes no moves. It then returns those that later strategies must treat as made.
	Make(ctx context.Context, plan *strategies.Plan, profile *strategies.Profile) (supposed []strategies.Move)
}

// Runner runs cycles, one at a time.
type Runner struct {
	config   Config
	selector labels.Selector
	// client and podEvictor are those of upstream plugins that evict, the others those of
	// upstream plugins in dry run.
	client, dryRunClient kubernetes.Interface
	podEvictor, dryRun   *evictions.PodEvictor
	providers            *providers
	// turns holds the turns in order: first the Deschedule plugins of all profiles, then
	// the Balance plugins.
	turns []turn
	// nodes are those that the cycle is about.
	nodes []*v1.Node
	// supposed holds the moves of this cycle that later turns must treat as made although
	// they are not. hidden holds the UIDs of the pods that plans would have evicted so.
	supposed []strategies.Move
	hidden   map[string]bool
	// turn is the current turn.
	turn *turn
	// places finds destinations in a turn of plugins that evict by themselves; nil until
	// the first eviction.
	places *hosted.Places
}

// Run runs one cycle. A turn that fails does not stop the others.
func (r *Runner) Run(ctx context.Context) error {
	evictor, executor := r.config.Evictor, r.config.Executor
	evictor.BeginCycle(ctx) // judges the outcomes of earlier moves
	nodes, err := r.ready(ctx)
	if err != nil || len(nodes) < 2 {
		return err
	}
	started := r.config.Now()
	var failed []error
	r.nodes, r.supposed, r.hidden = nodes, nil, map[string]bool{}
	for i := range r.turns {
		turn := &r.turns[i]
		failed = append(failed, turn.take(ctx, func(ctx context.Context) error {
			r.turn, r.places = turn, nil
			if turn.dryRun {
				r.config.BeginDryRun()
			}
			if turn.planner == nil {
				return turn.runUpstream(ctx, nodes)
			}
			more, err := PlanAndMake(ctx, evictor, executor, turn.planner, nodes, r.unrecorded())
			if turn.dryRun {
				return err // the other plugins plan as if it were disabled
			}
			r.supposed = append(r.supposed, more...)
			for i := range more {
				r.hidden[more[i].UID] = true
			}
			return err
		}))
	}
	err = errors.Join(failed...)
	r.ended(ctx, started, err)
	return err
}

// PlanAndMake runs the turn of a planning plugin. The plugin plans on the latest
// observation, as if the supposed moves had been made. PlanAndMake makes its moves, or
// returns those that later turns must treat as made.
func PlanAndMake(ctx context.Context, half plugin.Half, executor Executor, planner *plugin.Plugin, nodes []*v1.Node, supposed []strategies.Move) ([]strategies.Move, error) {
	observed := half.Observe()
	observed = observed.Supposing(supposed)
	made, err := planner.Plan(ctx, &observed, nodes)
	if err != nil {
		return nil, fmt.Errorf("plugin %q finished with error: %w", planner.Name(), err)
	}
	executor.Planned(ctx, planner, made)
	return executor.Make(ctx, &made.Plan, planner.Profile()), nil
}

// ready returns the nodes that the policy's nodeSelector matches and that are ready;
// fewer than two if there is nothing to do.
func (r *Runner) ready(ctx context.Context) ([]*v1.Node, error) {
	if err := r.providers.ready(ctx); err != nil {
		r.config.Metrics.NotBegun()
		return nil, err
	}
	r.podEvictor.ResetCounters()
	r.dryRun.ResetCounters()
	nodes, err := ReadyNodes(r.config.Informers.Core().V1().Nodes().Lister(), r.selector)
	if err == nil && len(nodes) < 2 {
		klog.FromContext(ctx).Info("Cycle skipped, it needs two ready nodes", "readyNodes", len(nodes))
	}
	return nodes, err
}

// unrecorded returns the supposed moves that the ledger does not count as made.
func (r *Runner) unrecorded() []strategies.Move {
	return slices.DeleteFunc(slices.Clone(r.supposed), func(m strategies.Move) bool { return r.config.Evictor.Moving(m.UID) })
}

// place finds a destination for the replacement of a pod that an upstream plugin evicts by
// itself. A dry run supposes the move.
func (r *Runner) place(ctx context.Context, pod *v1.Pod) (strategies.Destination, error) {
	if !r.config.Landings {
		return strategies.Destination{None: "unknown, because a permission for planning is missing; evenkeel doctor lists it"}, nil
	}
	if r.places == nil {
		observed := r.config.Evictor.Observe()
		observed = observed.Supposing(r.unrecorded())
		r.places = hosted.NewPlaces(r.config.Evictor, &observed, r.nodes, r.config.PodsOnNode)
	}
	to, err := r.places.Find(ctx, pod)
	if err != nil {
		return to, fmt.Errorf("finding a destination: %w", err)
	}
	if (r.config.DryRun || r.turn.dryRun) && to.Node != "" {
		moved := strategies.Pod{Pod: informed.Pod(pod), Usage: to.Usage}
		move := strategies.Move{Pod: moved, From: pod.Spec.NodeName, To: to.Node, Reason: reasons.AskedByPlugin}
		r.places.Suppose(&move)
		if !r.turn.dryRun { // the other plugins plan as if it were disabled
			r.supposed = append(r.supposed, move)
		}
	}
	return to, nil
}

// take takes a turn. A plugin that panics on its arguments fails its turn, not the
// process.
func (t *turn) take(ctx context.Context, act func(context.Context) error) (err error) {
	logger := klog.FromContext(ctx).WithValues("profile", t.profile)
	defer func() {
		if fault := recover(); fault != nil {
			logger.Error(nil, "Panic in a plugin", "panic", fault, "stack", string(debug.Stack()))
			err = fmt.Errorf("running profile %q: a plugin panicked: %v", t.profile, fault)
		}
	}()
	began := time.Now()
	err = act(klog.NewContext(ctx, logger))
	if t.planner != nil { // the framework measures upstream plugins
		labels, took := map[string]string{"strategy": t.planner.Name(), "profile": t.profile}, time.Since(began).Seconds()
		metrics.DeschedulerStrategyDuration.With(labels).Observe(took)
		metrics.StrategyDuration.With(labels).Observe(took)
	}
	if err != nil {
		return fmt.Errorf("running profile %q: %w", t.profile, err)
	}
	return nil
}

// runUpstream runs a turn's upstream plugins that evict by themselves, through the
// framework.
func (t *turn) runUpstream(ctx context.Context, nodes []*v1.Node) error {
	if status := t.evicts(ctx, nodes); status != nil {
		return status.Err
	}
	return nil
}

func (r *Runner) ended(ctx context.Context, started time.Time, err error) {
	took := r.config.Now().Sub(started)
	r.config.Metrics.cycle(took, err)
	evicted := "evicted"
	if r.config.DryRun {
		evicted = "wouldEvict"
	}
	klog.FromContext(ctx).Info("Cycle ended", "duration", took, evicted, r.config.Total(), "failed", err != nil)
}
