package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/admission"
	"github.com/evenkeel/evenkeel/internal/explain"
	"github.com/evenkeel/evenkeel/internal/explain/preview"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/realusage"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
)

// previewed returns what is known of a plan, which is nil if no cycle made one.
func (a *App) previewed(ctx context.Context, made *realusage.Made) *preview.Facts {
	f := &preview.Facts{
		At: a.kube.Clock.Now(), Paused: a.pause.Last().String(), Closed: "a cycle takes two ready nodes",
		Evidence: map[string][]thresholds.Evidence{}, CountsFrom: map[string]time.Time{}, Until: map[string]time.Time{}, Steering: a.evidenceOfSteering(ctx),
	}
	f.OtherProfiles = a.current().unplanned
	if a.options.shortOf > 0 {
		f.Watched, f.ShortOf = a.current().load.Usage.ObservationPeriod.Duration, a.options.shortOf
	}
	if made == nil && !a.current().readsUsage() {
		made = unplanned(a.observer.Latest())
		f.Closed = made.Closed
	}
	if made == nil || made.Observed.View == nil {
		return f
	}
	f.Plan, f.Closed = made.Plan, made.Closed
	f.NotHot, f.NotCool, f.HotLeftOut = bases(made, a.current().load.Hot.ConsecutiveSamples)
	f.Measured = measured(made)
	for node, state := range made.Observed.States {
		young := state.Metric != "" && !state.Starting.IsZero()
		if young {
			f.CountsFrom[node] = state.Starting
		}
		if young || state.State == thresholds.Hot {
			f.Evidence[node] = made.Observed.Lines.EvidenceOf(node)
		}
	}
	for i := range made.Plan.Declined {
		d := &made.Plan.Declined[i]
		f.Until[d.UID] = a.until(d, f.At)
	}
	return f
}

// unplanned is what is known of the nodes where the policy moves nothing by real
// usage; o may be nil.
func unplanned(o *observer.Observation) *realusage.Made {
	made := &realusage.Made{Closed: explain.NothingByUsage}
	if o == nil {
		return made
	}
	made.Observed = strategies.Observed{View: o.View, Board: o.Board, States: o.States, Lines: o.Lines}
	for i := range o.View.Nodes {
		node := &o.View.Snapshot.Nodes[i].Node
		if !node.Ready {
			continue
		}
		predicted, _ := o.Board.Predicted(cluster.NodeIndex(i))
		percents := predicted.PercentOf(node.Allocatable)
		made.Plan.Nodes = append(made.Plan.Nodes, strategies.NodeReport{Name: node.Name, State: o.States[node.Name].State, Before: percents, After: percents})
	}
	return made
}

// measured returns the measured usage of the plan's nodes, by node.
func measured(made *realusage.Made) map[string]cluster.Percents {
	view, percents := made.Observed.View, map[string]cluster.Percents{}
	for i := range made.Plan.Nodes {
		name := made.Plan.Nodes[i].Name
		if k := view.Snapshot.Index(name); k >= 0 {
			percents[name] = view.Nodes[k].Measured[usage.AtAvg5m].PercentOf(view.Snapshot.Nodes[k].Node.Allocatable)
		}
	}
	return percents
}

// bases returns what the states of the plan's nodes are based on, by node, and the
// hot nodes that are no part of the plan.
func bases(made *realusage.Made, samplesNeeded int) (notHot, notCool map[string]*explain.Basis, leftOut []string) {
	o := &made.Observed
	facts := explain.Facts{View: o.View, States: o.States, Lines: o.Lines, SamplesNeeded: samplesNeeded}
	notHot, notCool, planned := map[string]*explain.Basis{}, map[string]*explain.Basis{}, map[string]bool{}
	for i := range made.Plan.Nodes {
		name := made.Plan.Nodes[i].Name
		planned[name] = true
		if k := o.View.Snapshot.Index(name); k >= 0 {
			notHot[name], notCool[name] = facts.Bases(k)
		}
	}
	for i := range o.View.Nodes {
		name := o.View.Snapshot.Nodes[i].Node.Name
		if len(planned) > 0 && !planned[name] && o.States[name].State == thresholds.Hot {
			leftOut = append(leftOut, name)
		}
	}
	return notHot, notCool, leftOut
}

// until returns when the reason why a pod is not moved ends; zero if that is not
// known ahead.
func (a *App) until(d *strategies.Declined, now time.Time) time.Time {
	g := a.current()
	if startup := g.load.Hot.Startup.Duration; d.Reason == reasons.PodStarting {
		return d.NewestStart(now, startup).Add(startup + g.load.Hot.MinWindow.Duration)
	}
	pod := a.cluster.Pod(d.Namespace, d.Name)
	if pod == nil {
		return time.Time{}
	}
	return g.evictor.Until(pod, d.Reason)
}

// evidenceOfSteering gathers what is known of steering without changing
// anything.
func (a *App) evidenceOfSteering(ctx context.Context) preview.Evidence {
	moves := a.observer.Ledger()
	e := preview.Evidence{Required: a.current().load.Eviction.Steering}
	_, e.Ended = moves.Moves()
	if e.Required == policy.SteeringAuto || e.Required == policy.SteeringAdmission {
		e.Installed = admission.Served(ctx, a.kube.Client.Discovery())
	}
	if remote := a.options.remote(); remote != nil {
		status, err := remote.Status(ctx, "")
		e.Asked, e.Err = status.Asked, err
		if address, err := remote.Address(); err == nil {
			e.Extender = address.Redacted()
		}
	}
	if hold := moves.Hold(); evictor.Holds(hold, a.kube.Clock.Now(), e.Asked) != "" {
		e.Hold = hold
	}
	return e
}

// known returns an error for a subject that is neither there nor remembered.
func (a *App) known(ctx context.Context, s explain.Subject) error {
	if s.Kind == explain.KindNode {
		lister := a.informers.Core().V1().Nodes().Lister()
		if _, err := lister.Get(s.Name); err == nil {
			return nil
		}
		nodes, err := lister.List(labels.Everything())
		if err != nil {
			return fmt.Errorf("listing nodes: %w", err)
		}
		return explain.UnknownNode(s.Name, len(nodes))
	}
	if pod := a.cluster.Pod(s.Namespace, s.Name); pod != nil && pod.Spec.NodeName != "" {
		return nil
	}
	if err := a.takeLedger(ctx); err != nil {
		return err
	}
	inFlight, ended := a.observer.Ledger().Moves()
	remembers := func(m ledger.Move) bool { return explain.Remembers(&m, s.Namespace, s.Name) }
	if slices.ContainsFunc(inFlight, remembers) || slices.ContainsFunc(ended, remembers) {
		return nil
	}
	return explain.UnknownPod(s.Namespace, s.Name)
}
