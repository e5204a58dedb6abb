package app

import (
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	listers "k8s.io/client-go/listers/core/v1"

	"github.com/evenkeel/evenkeel/cycle"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status/announce"
	"github.com/evenkeel/evenkeel/status/live"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// Planning is a process that plans one cycle and evicts nothing, for commands that show what a cycle would move and
// why.
type Planning struct {
	*Look
	Cluster   *evictor.Watched
	Nodes     listers.NodeLister
	Explainer *live.Explainer
	// ShortOf is the policy's hot.minWindow if usage is observed for a shorter time;
	// otherwise 0.
	ShortOf time.Duration
	// Unplanned names further profiles that move pods by real usage but are not shown.
	Unplanned []string

	evicting *evicting
	progress io.Writer
	// planned receives the plan of each strategy, which is not executed.
	planned func(context.Context, *plugin.Plugin, *strategies.Made)
}

var _ cycle.Executor = (*Planning)(nil)

// OpenPlanning makes a planning process without starting it. It reports slow steps to
// progress, and fails if the API server cannot be reached.
func OpenPlanning(ctx context.Context, options flags.Options, progress io.Writer) (*Planning, error) {
	options.DryRun, options.LeaderElect, options.MetricsAddress = true, false, "0"
	p := &Planning{progress: progress}
	s, err := open(options)
	if err != nil {
		return nil, err
	}
	wanted := s.file.Load.Hot.MinWindow.Duration
	s.notes, s.mode.withholdCredentials, s.mode.onlyPlanned = progress, !options.SendCredentials, true
	e, err := newEvicting(ctx, s, announce.NewRecorder(s.kube.Client, options.DryRun), false)
	if err != nil {
		return nil, err
	}
	e.executor = func(*generation) cycle.Executor { return p }
	if err := e.process.reach(ctx); err != nil {
		e.process.stop()
		return nil, err
	}
	p.evicting, p.Look, p.Cluster, p.Explainer = e, lookInto(e.process), e.cluster, e.explainer
	p.Unplanned = e.process.current().unplanned
	if p.Load.Hot.MinWindow.Duration < wanted { // lowered by a flag
		p.ShortOf = wanted
	}
	p.Nodes = e.informers.Core().V1().Nodes().Lister()
	return p, nil
}

// RunOnce observes and runs one cycle, in which the plan of each strategy is passed to
// planned instead of being executed. It calls check once nodes and pods are known, before
// it waits for usage.
func (p *Planning) RunOnce(ctx context.Context, check func(context.Context) error, planned func(context.Context, *plugin.Plugin, *strategies.Made)) error {
	e, process := p.evicting, p.evicting.process
	p.planned = planned
	err := process.start(ctx, func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if err := e.startInformers(ctx); err != nil {
			return err
		}
		if err := check(ctx); err != nil {
			return err
		}
		group.Go(func() error { return process.observer.Run(ctx) })
		group.Go(func() error {
			defer cancel()
			if !e.awaitUsage(ctx, p.progress, hopeless) && (ctx.Err() != nil || process.current().readsUsage() || !process.current().plansUpstream) {
				return hopeless(process.observer.Latest())
			}
			process.pause.Read(ctx, false)
			return e.cycle(ctx)
		})
		return group.Wait()
	})
	return errors.Join(err, ctx.Err())
}

// Until returns when the reason for not moving a pod ends; the zero time if that is not
// known in advance.
func (p *Planning) Until(pod *v1.Pod, reason reasons.Reason) time.Time {
	return p.evicting.process.current().evictor.Until(pod, reason)
}

// ReadLedger reads the stored ledger, so that moves are known without running a cycle.
func (p *Planning) ReadLedger(ctx context.Context) error { return p.evicting.takeLedger(ctx) }

// Planned implements cycle.Executor.
func (p *Planning) Planned(ctx context.Context, by *plugin.Plugin, made *strategies.Made) {
	p.planned(ctx, by, made)
}

// Make implements cycle.Executor. It moves nothing.
func (p *Planning) Make(_ context.Context, plan *strategies.Plan, _ *strategies.Profile) []strategies.Move {
	return plan.Moves
}

// hopeless returns an error if no usage will arrive until someone installs the source.
func hopeless(latest *observer.Observation) error {
	if latest == nil || latest.Batches > 0 {
		return nil
	}
	return latest.LastingError()
}
