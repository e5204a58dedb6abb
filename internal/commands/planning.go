package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer/admission"
	"github.com/evenkeel/evenkeel/scorer/remote"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/hosted"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// planOnce observes, plans as a cycle would, and returns the facts about the plan.
func planOnce(ctx context.Context, options flags.Options, progress io.Writer) (*status.PlanFacts, error) {
	p, err := app.OpenPlanning(ctx, options, progress)
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	var planned []strategies.Made
	nothing := func(context.Context) error { return nil }
	add := func(_ context.Context, _ *plugin.Plugin, made *strategies.Made) { planned = append(planned, *made) }
	if err := p.RunOnce(ctx, nothing, add); err != nil {
		return nil, err
	}
	facts := previewOf(ctx, p, planned, options.Remote())
	facts.Evictions = p.Evictions()
	return facts, nil
}

// previewOf returns the facts about the strategies' plans.
func previewOf(ctx context.Context, p *app.Planning, planned []strategies.Made, extender *remote.Extender) *status.PlanFacts {
	f := &status.PlanFacts{
		At: p.Kube.Clock.Now(), Paused: p.Pause.Last().String(), Closed: "a cycle needs two ready nodes",
		Until: map[string]time.Time{}, Steering: evidenceOfSteering(ctx, p, extender), OtherProfiles: p.Unplanned, OtherPlugins: p.Unread,
	}
	if p.ShortOf > 0 {
		f.Watched, f.ShortOf = p.Load.Usage.ObservationPeriod.Duration, p.ShortOf
	}
	made := strategies.TogetherMade(planned)
	if len(planned) == 0 && len(policy.Strategies(p.Profiles)) == 0 && !hosted.Among(p.Profiles) {
		f.Closed = status.NothingByUsage
		if o := p.Observer.Latest(); o != nil {
			observed := strategies.Observed{View: o.View, Board: o.Board, States: o.States, Lines: o.Lines}
			made = strategies.Made{Closed: f.Closed, Observed: observed, Plan: status.Unplanned(&observed)}
		}
	}
	if len(planned) > 0 {
		f.Plan, f.Closed = made.Plan, made.Closed
	}
	if made.Observed.View == nil {
		return f
	}
	f.Plan, f.Closed = made.Plan, made.Closed
	f.Observe(&made.Observed, p.Load.Hot.ConsecutiveSamples)
	for i := range made.Plan.Declined {
		d := &made.Plan.Declined[i]
		f.Until[d.UID] = until(p, d, f.At)
	}
	return f
}

// until returns when the reason for not moving a pod ends; the zero time if that is not
// known in advance.
func until(p *app.Planning, d *strategies.Declined, now time.Time) time.Time {
	if startup := p.Load.Hot.Startup.Duration; d.Reason == reasons.PodStarting {
		return d.NewestStart(now, startup).Add(startup + p.Load.Hot.MinWindow.Duration)
	}
	pod := p.Cluster.Pod(d.Namespace, d.Name)
	if pod == nil {
		return time.Time{}
	}
	return p.Until(pod, d.Reason)
}

// evidenceOfSteering collects what is known about steering without changing anything. The extender may be nil.
func evidenceOfSteering(ctx context.Context, p *app.Planning, extender *remote.Extender) status.SteeringEvidence {
	moves := p.Observer.Ledger()
	e := status.SteeringEvidence{Required: p.Load.Eviction.Steering}
	_, e.Ended = moves.Moves()
	if e.Required == policy.SteeringAuto || e.Required == policy.SteeringAdmission {
		e.Installed = admission.Served(ctx, p.Kube.Client.Discovery())
	}
	if extender != nil {
		status, err := extender.Status(ctx, "")
		e.Asked, e.Err = status.Asked, err
		if address, err := extender.Address(); err == nil {
			e.Extender = address.Redacted()
		}
	}
	if hold := moves.Hold(); evictor.Holds(hold, p.Kube.Clock.Now(), e.Asked) != "" {
		e.Hold = hold
	}
	return e
}

// explainOnce plans as a cycle would and returns the facts to explain a subject. It fails
// immediately for an unknown subject.
func explainOnce(ctx context.Context, options flags.Options, progress io.Writer, s status.Subject) (planned *status.Facts, err error) {
	p, err := app.OpenPlanning(ctx, options, progress)
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	var failed error
	check := func(ctx context.Context) error { return known(ctx, p, s) }
	var planners []*plugin.Plugin
	err = p.RunOnce(ctx, check, func(ctx context.Context, by *plugin.Plugin, _ *strategies.Made) {
		planners = append(planners, by)
		planned, failed = p.Explainer.Study(ctx, planners, s)
	})
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	if planned == nil {
		if planned, err = p.Explainer.Latest(); err != nil {
			return nil, err
		}
		if planned.NoPlan = p.Explainer.NothingByUsage(); planned.NoPlan == "" {
			planned.NoPlan = "no plan was made, because that needs two ready nodes"
		}
	}
	planned.Evictions = p.Evictions()
	planned.InFlight, planned.Ended = p.Recorded(planned.InFlight), p.Recorded(planned.Ended)
	return planned, nil
}

// known returns an error if a subject neither exists nor is in the ledger.
func known(ctx context.Context, p *app.Planning, s status.Subject) error {
	if s.Kind == status.KindNode {
		if _, err := p.Nodes.Get(s.Name); err == nil {
			return nil
		}
		nodes, err := p.Nodes.List(labels.Everything())
		if err != nil {
			return fmt.Errorf("listing nodes: %w", err)
		}
		return status.UnknownNode(s.Name, len(nodes))
	}
	if pod := p.Cluster.Pod(s.Namespace, s.Name); pod != nil && pod.Spec.NodeName != "" {
		return nil
	}
	if err := p.ReadLedger(ctx); err != nil {
		return err
	}
	inFlight, ended := p.Observer.Ledger().Moves()
	remembers := func(m ledger.Move) bool { return status.Remembers(&m, s.Namespace, s.Name) }
	if slices.ContainsFunc(inFlight, remembers) || slices.ContainsFunc(ended, remembers) {
		return nil
	}
	return status.UnknownPod(s.Namespace, s.Name)
}
