package sim

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/evenkeel/evenkeel/cycle"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/scorer/answer"
	"github.com/evenkeel/evenkeel/sim/deschedulerapi"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// evenkeel observes a world, steers its kube-scheduler and evicts, as defined by its
// Variant. The production packages make the decisions; this type provides their
// environment.
type evenkeel struct {
	policy   *Policy
	world    *world
	source   *source
	tally    *tally
	observer *observer.Observer
	answerer *answer.Answerer
	follower *placement.Follower
	evictor  *evictor.Evictor
	plugins  []*plugin.Plugin
	// executor executes plans: this evenkeel itself, unless something inspects its plans.
	executor cycle.Executor
	// nodes are the nodes with what nodesync has written to them; marks is nil if it writes
	// nothing. nominates is true if the API server steers.
	nodes     cache.Indexer
	marks     *marks
	nominates bool
	// clock is the run's current time, step the time at which the cycle's step begins.
	clock, step time.Time
	err         error
}

func newEvenkeel(ctx context.Context, p *Policy, tally *tally) (*evenkeel, error) {
	e := &evenkeel{policy: p, tally: tally, clock: beginning, nodes: cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)}
	e.source = &source{now: e.Now, windows: usage.Distinct([]usage.Window{usage.Last, usage.Avg5m}, p.Observer.Usage.Windows)}
	config := p.Observer
	config.Now, config.Sources = e.Now, []observer.Source{e.source}
	var err error
	if e.observer, err = observer.New(config); err != nil {
		return nil, fmt.Errorf("making the observer: %w", err)
	}
	e.answerer = answer.NewAnswerer(e.observer, e.Now)
	filters, err := placement.New(ctx, placement.Config{})
	if err != nil {
		return nil, fmt.Errorf("building kube-scheduler's filters: %w", err)
	}
	e.follower = filters.Follow(objects{e})
	settings := p.Evicting
	settings.GracePeriodSeconds = new(int64(0)) // an eviction ends its pod immediately
	e.evictor, err = evictor.New(evictor.Config{
		Observer: e.observer, Cluster: e, Evictions: unattended{e}, DryRun: unattended{e}, Clock: e, Settings: settings,
	})
	return e, err
}

// Now implements evictor.Clock.
func (e *evenkeel) Now() time.Time { return e.clock }

// Local implements evictor.Clock. In virtual time, there is only one clock.
func (e *evenkeel) Local() time.Time { return e.clock }

// join starts watching a world whose pods are placed.
func (e *evenkeel) join(w *world) error {
	e.world, e.source.world, e.clock = w, w, w.start
	store := e.observer.Store()
	for _, node := range w.nodes {
		store.SetNode(node)
		if err := e.nodes.Add(node); err != nil {
			return fmt.Errorf("listing node %q: %w", node.Name, err)
		}
	}
	for _, pod := range w.pods() {
		store.SetPod(pod)
	}
	w.watcher, e.executor = e, e
	for _, strategy := range e.policy.Strategies {
		made, err := plugin.New(strategy, &deschedulerapi.Handle{World: stage{e.world}}, plugin.Deps{
			Half: e.evictor, Options: e.policy.Options,
		})
		if err != nil {
			return err
		}
		e.plugins = append(e.plugins, made)
	}
	return nil
}

// observe takes a sample at an offset within a step.
func (e *evenkeel) observe(ctx context.Context, step time.Time, offset time.Duration) error {
	e.step, e.clock = step, step.Add(offset)
	e.observer.Sample(ctx)
	if e.marks == nil {
		return nil
	}
	return e.marks.sync(e.clock)
}

// cycle runs a cycle in virtual time, as cycle.Runner does in real time.
func (e *evenkeel) cycle(ctx context.Context) error {
	e.err = nil
	e.observer.Ledger().Expire(e.clock)
	e.evictor.BeginCycle(ctx)
	for _, strategy := range e.plugins {
		if _, err := cycle.PlanAndMake(ctx, e.evictor, e.executor, strategy, e.world.nodes, nil); err != nil {
			return err
		}
		if e.err != nil {
			return e.err
		}
	}
	return nil
}

// Planned implements cycle.Executor. It does nothing, because plans are not shown.
func (e *evenkeel) Planned(context.Context, *plugin.Plugin, *strategies.Made) {}

// Make implements cycle.Executor. It lets virtual time pass between the steps of an
// execution.
func (e *evenkeel) Make(ctx context.Context, plan *strategies.Plan, profile *strategies.Profile) []strategies.Move {
	execution := e.evictor.Begin(ctx, e.evictor.Moves(plan, profile), profile)
	defer execution.End(ctx)
	for at := e.clock.Add(e.policy.Evicting.Interval); e.inTime(at); {
		if e.err = e.world.until(at); e.err != nil {
			return nil
		}
		e.clock = at
		next := execution.Step(ctx)
		if next.Over || e.err != nil {
			return nil
		}
		if at = at.Add(next.Wait); next.Blocked {
			if at = e.changes(execution.Left()); at.After(next.Until) {
				return nil // the cycle ends before anything changes
			}
		}
	}
	return nil
}

// inTime reports whether a time is still within the step.
func (e *evenkeel) inTime(at time.Time) bool { return !at.IsZero() && at.Sub(e.step) < Step }

// changes returns the next time at which a pod of a waiting move's owner becomes ready;
// zero if there is none.
func (e *evenkeel) changes(moves []evictor.Move) (at time.Time) {
	for i := range moves {
		replica, ok := e.world.byUID[types.UID(moves[i].PodUID)]
		if !ok {
			continue
		}
		if next, ok := e.world.nextReady(e.world.replicas[replica].Owner, e.clock); ok && (at.IsZero() || next.Before(at)) {
			at = next
		}
	}
	return at
}
