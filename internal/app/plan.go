package app

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	listers "k8s.io/client-go/listers/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/cycle"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status/announce"
	"github.com/evenkeel/evenkeel/status/live"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/hosted"
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
	// Unplanned are further profiles that move pods by real usage but are not shown. Unread
	// are plugins that are not shown because they read metrics themselves.
	Unplanned, Unread []string

	evicting *evicting
	// asked holds the evictions that plugins asked for by themselves, in their order.
	asked    []evictor.Unplanned
	progress io.Writer
	// planned receives the plan of each strategy, which is not executed.
	planned func(context.Context, *plugin.Plugin, *strategies.Made)
}

var _ cycle.Executor = (*Planning)(nil)

// OpenPlanning makes a process that plans, without starting it. It reports slow steps to progress, and fails if the
// API server cannot be reached.
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
	e.asks = func(client *evictor.Client) evictor.Evictions { return foreseen{client, e.cluster} }
	e.unplanned = p.unplanned
	if err := e.process.reach(ctx); err != nil {
		e.process.stop()
		return nil, err
	}
	p.evicting, p.Look, p.Cluster, p.Explainer = e, lookInto(e.process), e.cluster, e.explainer
	p.Unplanned, p.Unread = e.process.current().unplanned, e.process.current().unread
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
			if !p.awaitObservation(ctx) {
				return hopeless(process.observer.Latest())
			}
			process.pause.Read(ctx, false)
			return e.cycle(ctx)
		})
		return group.Wait()
	})
	return errors.Join(err, ctx.Err())
}

// awaitObservation waits until enough usage has been observed for the plan. A plan only for upstream plugins needs none,
// but shows what the first observation knows about nodes and pods. It returns false if waiting is useless.
func (p *Planning) awaitObservation(ctx context.Context) bool {
	process := p.evicting.process
	if g := process.current(); !g.readsUsage() && policyfile.EnablesUpstream(g.profiles) {
		return process.observer.AwaitFirst(ctx)
	}
	return p.evicting.awaitUsage(ctx, p.progress, hopeless)
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

// unplanned notes an eviction that a plugin asked for by itself. The process's own ledger, which is never stored,
// counts it as made, so that the limits hold for later evictions as in a cycle that evicts.
func (p *Planning) unplanned(asked *evictor.Unplanned) {
	p.asked = append(p.asked, *asked)
	moves, now := p.Observer.Ledger(), p.Kube.Clock.Now()
	switch {
	case asked.Refused != "", asked.DryRun:
	case podutil.IsPodTerminal(asked.Pod):
		moves.Finished(asked.Move.Intent, "", now)
	default:
		moves.Record(now, asked.Move.Intent)
		moves.Accepted(asked.Move.PodUID, now)
	}
}

// Evictions returns the evictions that plugins asked for by themselves.
func (p *Planning) Evictions() []strategies.Eviction {
	all := make([]strategies.Eviction, len(p.asked))
	for i, asked := range p.asked {
		all[i] = strategies.Eviction{
			Pod: informed.Pod(asked.Pod), Plugin: asked.Plugin, Why: hosted.Why(asked.Plugin, asked.Why), Refused: asked.Refused,
			To: asked.Destination.Node, NoDestination: asked.Destination.None, DryRun: asked.DryRun,
		}
	}
	return all
}

// Recorded leaves out of the ledger's moves the evictions that this process has only noted.
func (p *Planning) Recorded(moves []ledger.Move) []ledger.Move {
	return slices.DeleteFunc(slices.Clone(moves), func(m ledger.Move) bool {
		return slices.ContainsFunc(p.asked, func(asked evictor.Unplanned) bool {
			return asked.Refused == "" && !asked.DryRun && asked.Move.PodUID == m.PodUID
		})
	})
}

// foreseen evicts nothing. Unlike a dry run, it foresees evictions even while evicting is paused, and needs no requests.
type foreseen struct {
	*evictor.Client
	cluster *evictor.Watched
}

var _ evictor.Evictions = foreseen{}

// Permits implements evictor.Evictions.
func (f foreseen) Permits(context.Context) error { return nil }

// Read implements evictor.Evictions.
func (f foreseen) Read(_ context.Context, namespace, name string) (*v1.Pod, error) {
	if pod := f.cluster.Pod(namespace, name); pod != nil {
		return pod, nil
	}
	return nil, &reasons.Refusal{Reason: reasons.PodChanged, Detail: "it is gone"}
}

// hopeless returns an error if usage will not arrive until someone installs the source.
func hopeless(latest *observer.Observation) error {
	if latest == nil || latest.Batches > 0 {
		return nil
	}
	return latest.LastingError()
}
