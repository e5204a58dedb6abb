// Package live explains nodes and pods in a running process. It gathers the known facts
// about nodes and pods, and a plan if the process makes plans. Package status makes
// explanations from these facts.
package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/evenkeel/evenkeel/cycle"
	"github.com/evenkeel/evenkeel/evictor/pause"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// Terms holds the settings of a policy that explanations need.
type Terms struct {
	// SamplesNeeded is the number of consecutive samples that make a node hot.
	SamplesNeeded int
	// Limits keep pods off nodes by measured usage.
	Limits []scorer.Limit
	// Selector selects the nodes of a cycle; nil selects all.
	Selector *string
	// Protection holds the DefaultEvictor's arguments.
	Protection runtime.Object
	// MovesByUsage is true if a strategy moves pods by real usage, and PlansUpstream if
	// cycles plan the evictions of descheduler plugins.
	MovesByUsage, PlansUpstream bool
	// Shown lists the strategies whose plans are shown, the same as in `evenkeel plan`;
	// nil shows all. OtherProfiles lists the names of the profiles whose plans are not
	// shown.
	Shown         []policy.Strategy
	OtherProfiles []string
}

// Explainer makes explanations. It lives as long as the process.
type Explainer struct {
	observer *observer.Observer
	// nodes is nil in a process that makes no plans.
	nodes listers.NodeLister
	// pause is nil in a process that has no kill switch.
	pause *pause.Switch
	terms atomic.Pointer[Terms]
	busy  atomic.Bool
	// cycles holds the plans of the shown strategies in the last cycle, in the order in
	// which the strategies run; empty before the first cycle. It is only replaced as a
	// whole.
	cycles atomic.Pointer[[]planned]
}

// planned is the plan of a strategy in its last cycle.
type planned struct {
	by   *plugin.Plugin
	at   time.Time
	made strategies.Made
}

const (
	// Timeout bounds how long a running process takes to explain.
	Timeout = 5 * time.Second
	// judgedPerCycle bounds the number of nodes that the log of a cycle reports.
	judgedPerCycle = 50
)

// New returns an Explainer. nodes is nil in a process that makes no plans.
func New(from *observer.Observer, nodes listers.NodeLister, killSwitch *pause.Switch, terms *Terms) *Explainer {
	e := &Explainer{observer: from, nodes: nodes, pause: killSwitch}
	e.Follow(terms)
	return e
}

// Follow switches to another policy.
func (e *Explainer) Follow(terms *Terms) {
	e.terms.Store(terms)
	if known := e.cycles.Load(); known != nil && terms.MovesByUsage {
		if left := slices.DeleteFunc(slices.Clone(*known), func(p planned) bool { return p.by.Describe().Hosted }); len(left) > 0 {
			e.cycles.Store(&left)
			return
		}
	}
	e.cycles.Store(nil)
}

// NothingByUsage explains why a process that evicts makes no plan if nothing that its
// policy enables plans; empty otherwise.
func (e *Explainer) NothingByUsage() string {
	if e.nodes == nil || e.terms.Load().MovesByUsage || e.terms.Load().PlansUpstream {
		return ""
	}
	return status.NothingByUsage + "; evenkeel plan shows what their other plugins evict"
}

// Moves reports what the policy of a process that evicts moves pods by.
func (e *Explainer) Moves() status.Moves {
	terms := e.terms.Load()
	return status.Moves{ByUsage: e.nodes == nil || terms.MovesByUsage, ByPlugins: e.nodes != nil && terms.PlansUpstream}
}

// Cycle returns the plan of the last cycle; nil before the first one.
func (e *Explainer) Cycle() *status.Cycle {
	cycles := e.cycles.Load()
	if cycles == nil {
		return nil
	}
	cycle, all := &status.Cycle{}, make([]strategies.Made, len(*cycles))
	for i, c := range *cycles {
		all[i] = c.made
		if c.at.After(cycle.At) {
			cycle.At = c.at
		}
	}
	whole := strategies.TogetherMade(all)
	cycle.Plan, cycle.Closed = whole.Plan, whole.Closed
	return cycle
}

// planners returns the strategies whose plans are shown; none before the first cycle.
func (e *Explainer) planners() (all []*plugin.Plugin) {
	if cycles := e.cycles.Load(); cycles != nil {
		for _, c := range *cycles {
			all = append(all, c.by)
		}
	}
	return all
}

// OtherProfiles returns the profiles whose plans are not shown.
func (e *Explainer) OtherProfiles() []string { return e.terms.Load().OtherProfiles }

// Latest returns the current facts, without a plan. It also works in a process that
// evicts nothing.
func (e *Explainer) Latest() (*status.Facts, error) {
	o := e.observer.Latest()
	if o == nil {
		return e.facts(strategies.Observed{})
	}
	return e.facts(strategies.Observed{View: o.View, Board: o.Board, States: o.States, Lines: o.Lines})
}

// facts combines an observation with the ledger.
func (e *Explainer) facts(o strategies.Observed) (*status.Facts, error) {
	if o.View == nil {
		return nil, errors.New("usage has not been read yet")
	}
	terms := e.terms.Load()
	f := &status.Facts{
		View: o.View, Board: o.Board, States: o.States, Lines: o.Lines, SamplesNeeded: terms.SamplesNeeded, Limits: terms.Limits,
		Paused: e.pause.Last().String(),
	}
	f.InFlight, f.Ended = e.observer.Ledger().Moves()
	return f, nil
}

// Study makes the strategies' plans only for explanations; they are never carried out.
func (e *Explainer) Study(ctx context.Context, planners []*plugin.Plugin, s status.Subject) (*status.Facts, error) {
	terms := e.terms.Load()
	selector, err := cycle.NodeSelector(terms.Selector)
	if err != nil {
		return nil, err
	}
	nodes, err := cycle.ReadyNodes(e.nodes, selector)
	if err != nil {
		return nil, err
	}
	asked := strategies.Asked{Protection: terms.Protection}
	if o := e.observer.Latest(); o != nil && s.Kind == status.KindPod {
		asked.Pod = status.FindPod(o.View, s.Namespace, s.Name)
	}
	study, err := plugin.Study(ctx, planners, nodes, asked)
	if err != nil {
		return nil, fmt.Errorf("planning to explain: %w", err)
	}
	f, err := e.facts(study.Made.Observed)
	if err != nil {
		return nil, err
	}
	f.Planned = status.PlannedOf(&study)
	f.Planned.ByPluginsOnly = !slices.ContainsFunc(planners, func(p *plugin.Plugin) bool { return !p.Describe().Hosted })
	return f, nil
}

// Judged receives each plan of a cycle, one for each strategy of each profile. It logs
// the judged nodes, and keeps the plans that are shown, with their strategies.
func (e *Explainer) Judged(ctx context.Context, by *plugin.Plugin, made *strategies.Made) {
	e.logJudged(ctx, made)
	shown := e.terms.Load().Shown
	isShown := func(by *plugin.Plugin) bool {
		return shown == nil || by.Describe().Hosted || slices.ContainsFunc(shown, by.Is)
	}
	if !isShown(by) {
		return
	}
	var cycles []planned
	if known := e.cycles.Load(); known != nil {
		cycles = slices.DeleteFunc(slices.Clone(*known), func(p planned) bool {
			return p.by.Name() == by.Name() || !isShown(p.by) // belongs to an earlier policy
		})
	}
	latest := planned{by: by, made: *made}
	if o := e.observer.Latest(); o != nil {
		latest.at = o.At
	}
	cycles = append(cycles, latest)
	place := func(p planned) int { return slices.IndexFunc(shown, p.by.Is) }
	slices.SortStableFunc(cycles, func(a, b planned) int { return cmp.Compare(place(a), place(b)) })
	e.cycles.Store(&cycles)
}

// Explain answers GET /explain/node/NAME and GET /explain/pod/NAMESPACE/NAME.
func (e *Explainer) Explain(r *http.Request) (any, error) {
	s, err := status.SubjectOfPath(r.URL.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", extender.ErrNotFound, err)
	}
	f, err := e.knowing(r.Context(), s)
	if err != nil {
		return nil, err
	}
	explanation, err := s.Explain(f)
	if errors.Is(err, status.ErrUnknown) {
		return nil, fmt.Errorf("%w: %w", extender.ErrNotFound, err)
	}
	return explanation, err
}

// knowing returns the facts for an explanation, including a plan if this process makes
// plans.
func (e *Explainer) knowing(ctx context.Context, s status.Subject) (*status.Facts, error) {
	if planners := e.planners(); len(planners) > 0 {
		return e.study(ctx, func(ctx context.Context) (*status.Facts, error) { return e.Study(ctx, planners, s) })
	}
	f, err := e.Latest()
	if err != nil {
		return nil, err
	}
	if f.NoPlan = e.NothingByUsage(); f.NoPlan == "" {
		f.NoPlan = "this replica has not run a cycle with this policy: another one leads, or its first cycle is still to come"
	}
	if e.nodes == nil {
		f.NoPlan = "this process only answers kube-scheduler and makes no plan; ask the one that evicts, or run explain without --extender-url"
	}
	return f, nil
}

// study makes one plan at a time, because a what-if session needs exclusive use of
// kube-scheduler's filters. It waits up to Timeout, because a cycle may be using them. A
// plan whose client has disconnected still blocks other plans until it is done.
func (e *Explainer) study(ctx context.Context, makeFacts func(context.Context) (*status.Facts, error)) (*status.Facts, error) {
	if !e.busy.CompareAndSwap(false, true) {
		return nil, errors.New("another explanation is being made; ask again")
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	type result struct {
		facts *status.Facts
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var made result
		defer func() {
			if p := recover(); p != nil { // a request must not crash the process that evicts
				made.err = fmt.Errorf("making the plan to explain with: %v", p)
			}
			e.busy.Store(false) // reset before the result is sent, because the client may ask again at once
			done <- made
		}()
		made.facts, made.err = makeFacts(ctx)
	}()
	select {
	case made := <-done:
		return made.facts, made.err
	case <-ctx.Done():
		return nil, fmt.Errorf("making the plan to explain with: %w", ctx.Err())
	}
}

// logJudged logs the hot nodes of a cycle, and nodes that are above an evict line but
// not hot.
func (e *Explainer) logJudged(ctx context.Context, made *strategies.Made) {
	logger := klog.FromContext(ctx).V(2)
	if !logger.Enabled() {
		return
	}
	f, err := e.facts(made.Observed)
	if err != nil {
		return // nothing was observed, so nothing was judged
	}
	f.Planned = &status.Planned{Basis: made.Basis, Plan: made.Plan, Closed: made.Closed}
	logged := 0
	for i := range f.View.Nodes {
		name := f.View.Snapshot.Nodes[i].Node.Name
		if notHot, _ := f.Bases(i); f.States[name].State != thresholds.Hot && notHot == nil {
			continue
		}
		if logged++; logged > judgedPerCycle {
			logger.Info("More nodes are above their evict lines than are logged", "logged", judgedPerCycle)
			return
		}
		if n, err := status.OfNode(f, name); err == nil {
			logNode(logger, &n)
		}
	}
}

func logNode(logger klog.Logger, n *status.NodeExplanation) {
	none := status.Amounts{} // has pods of no hot node
	logger.Info("Node judged", "node", klog.KRef("", n.Name), "state", n.State, "since", ptr.Deref(n.Since, time.Time{}), "summary", n.Summary,
		"over", strings.Join(n.Over, "; "), "samplesOver", n.SamplesOver,
		"hasToLeave", ptr.Deref(n.HasToLeave, none), "predicted", ptr.Deref(n.Predicted, none), "ceiling", n.Ceiling, "moves", len(n.Leave), "leftAlone", n.LeftAlone, "declined", len(n.Declined))
}
