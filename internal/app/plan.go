package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/admission"
	"github.com/evenkeel/evenkeel/internal/explain"
	"github.com/evenkeel/evenkeel/internal/explain/preview"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// planning is a process that plans one cycle and evicts nothing.
type planning struct {
	*evicting
	progress io.Writer
}

// PlanOnce observes, plans as a cycle would and returns what is known of the
// plan, without executing it. It reports to progress what takes time.
func PlanOnce(ctx context.Context, options flags.Options, progress io.Writer) (*preview.Facts, error) {
	p, err := newPlan(ctx, options, progress)
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	var planned *realusage.Made
	err = p.run(ctx, func(context.Context) error { return nil }, func(_ context.Context, made realusage.Made) { planned = &made })
	if err := errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	return p.preview(ctx, planned), nil
}

// ExplainOnce does the same, and explains a subject by the plan. It fails at once
// for a subject that is not known.
func ExplainOnce(ctx context.Context, options flags.Options, progress io.Writer, s explain.Subject) (planned *explain.Facts, err error) {
	p, err := newPlan(ctx, options, progress)
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	var failed error
	check := func(ctx context.Context) error { return p.known(ctx, s) }
	err = p.run(ctx, check, func(ctx context.Context, made realusage.Made) { planned, failed = p.explainer.Study(ctx, made.By, s) })
	if err := errors.Join(err, ctx.Err(), failed); err != nil {
		return nil, err
	}
	if planned == nil {
		if planned, err = p.explainer.Latest(); err != nil {
			return nil, err
		}
		if planned.NoPlan = p.explainer.NothingByUsage(); planned.NoPlan == "" {
			planned.NoPlan = "no plan was made; it takes two ready nodes"
		}
	}
	return planned, nil
}

// newPlan makes a process that plans. It fails if the API server cannot be
// reached.
func newPlan(ctx context.Context, options flags.Options, progress io.Writer) (*planning, error) {
	options.DryRun, options.LeaderElect, options.MetricsAddress = true, false, "0"
	s, err := open(options, func(g *generation) error { return decodePlanned(g, &options) })
	if err != nil {
		return nil, err
	}
	s.notes, s.withholdCredentials = progress, !options.SendCredentials
	e, err := newEvicting(ctx, s, newEventLog(s.kube.Client, options.DryRun), false)
	if err != nil {
		return nil, err
	}
	if err := e.reach(ctx, e); err != nil {
		e.stop()
		return nil, err
	}
	return &planning{evicting: e, progress: progress}, nil
}

// decodePlanned decodes what is planned by: Evenkeel's own plugin, without any
// other.
func decodePlanned(g *generation, options *flags.Options) error {
	g.shortOf, g.onlyRealUsage = options.Shorten(g.load), true
	if err := decodeGiven(g); err != nil {
		return err
	}
	g.unplanned = policyfile.KeepOnlyRealUsage(g.profiles)
	return nil
}

// run runs one cycle up to its plan. It calls check once nodes and pods are known,
// before it waits for usage, and planned with the plan.
func (p *planning) run(ctx context.Context, check func(context.Context) error, planned func(context.Context, realusage.Made)) error {
	p.execute = func(ctx context.Context, _ *generation, made realusage.Made, _ func(context.Context, *v1.Pod, reasons.Reason) error) {
		planned(ctx, made)
	}
	return p.start(ctx, func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if err := p.startInformers(ctx); err != nil {
			return err
		}
		if err := check(ctx); err != nil {
			return err
		}
		group.Go(func() error { return p.observer.Run(ctx) })
		group.Go(func() error {
			defer cancel()
			if !p.awaitUsage(ctx, patience{progress: p.progress, hopeless: hopeless}) {
				return hopeless(p.observer.Latest())
			}
			p.pause.Read(ctx, false)
			return p.cycle(ctx)
		})
		return group.Wait()
	})
}

// hopeless returns why usage will not come, for as long as nobody installs the
// source.
func hopeless(latest *observer.Observation) error {
	if latest == nil || latest.Batches > 0 {
		return nil
	}
	return latest.LastingError()
}

// preview returns what is known of a plan, which is nil if no cycle made one.
func (p *planning) preview(ctx context.Context, made *realusage.Made) *preview.Facts {
	g := p.current()
	f := &preview.Facts{
		At: p.kube.Clock.Now(), Paused: p.pause.Last().String(), Closed: "a cycle takes two ready nodes",
		Until: map[string]time.Time{}, Steering: p.evidenceOfSteering(ctx), OtherProfiles: g.unplanned,
	}
	if g.shortOf > 0 {
		f.Watched, f.ShortOf = g.load.Usage.ObservationPeriod.Duration, g.shortOf
	}
	if made == nil && !g.readsUsage() {
		f.Closed = explain.NothingByUsage
		if o := p.observer.Latest(); o != nil {
			observed := strategies.Observed{View: o.View, Board: o.Board, States: o.States, Lines: o.Lines}
			made = &realusage.Made{Closed: f.Closed, Observed: observed, Plan: preview.Unplanned(&observed)}
		}
	}
	if made == nil || made.Observed.View == nil {
		return f
	}
	f.Plan, f.Closed = made.Plan, made.Closed
	f.Observe(&made.Observed, g.load.Hot.ConsecutiveSamples)
	for i := range made.Plan.Declined {
		d := &made.Plan.Declined[i]
		f.Until[d.UID] = p.until(d, f.At)
	}
	return f
}

// until returns when the reason why a pod is not moved ends; zero if that is not
// known ahead.
func (p *planning) until(d *strategies.Declined, now time.Time) time.Time {
	g := p.current()
	if startup := g.load.Hot.Startup.Duration; d.Reason == reasons.PodStarting {
		return d.NewestStart(now, startup).Add(startup + g.load.Hot.MinWindow.Duration)
	}
	pod := p.cluster.Pod(d.Namespace, d.Name)
	if pod == nil {
		return time.Time{}
	}
	return g.evictor.Until(pod, d.Reason)
}

// evidenceOfSteering gathers what is known of steering without changing
// anything.
func (p *planning) evidenceOfSteering(ctx context.Context) preview.Evidence {
	moves := p.observer.Ledger()
	e := preview.Evidence{Required: p.current().load.Eviction.Steering}
	_, e.Ended = moves.Moves()
	if e.Required == policy.SteeringAuto || e.Required == policy.SteeringAdmission {
		e.Installed = admission.Served(ctx, p.kube.Client.Discovery())
	}
	if remote := p.options.Remote(); remote != nil {
		status, err := remote.Status(ctx, "")
		e.Asked, e.Err = status.Asked, err
		if address, err := remote.Address(); err == nil {
			e.Extender = address.Redacted()
		}
	}
	if hold := moves.Hold(); evictor.Holds(hold, p.kube.Clock.Now(), e.Asked) != "" {
		e.Hold = hold
	}
	return e
}

// known returns an error for a subject that is neither there nor remembered.
func (p *planning) known(ctx context.Context, s explain.Subject) error {
	if s.Kind == explain.KindNode {
		lister := p.informers.Core().V1().Nodes().Lister()
		if _, err := lister.Get(s.Name); err == nil {
			return nil
		}
		nodes, err := lister.List(labels.Everything())
		if err != nil {
			return fmt.Errorf("listing nodes: %w", err)
		}
		return explain.UnknownNode(s.Name, len(nodes))
	}
	if pod := p.cluster.Pod(s.Namespace, s.Name); pod != nil && pod.Spec.NodeName != "" {
		return nil
	}
	if err := p.takeLedger(ctx); err != nil {
		return err
	}
	inFlight, ended := p.observer.Ledger().Moves()
	remembers := func(m ledger.Move) bool { return explain.Remembers(&m, s.Namespace, s.Name) }
	if slices.ContainsFunc(inFlight, remembers) || slices.ContainsFunc(ended, remembers) {
		return nil
	}
	return explain.UnknownPod(s.Namespace, s.Name)
}
