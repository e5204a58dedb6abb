// Package desk is where a process is asked to explain. It gathers what is known
// of nodes and pods, with a plan where the process makes plans; what it means
// in words is for package explain to say.
package desk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/evenkeel/evenkeel/internal/explain"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/runner"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/realusage"
	"github.com/evenkeel/evenkeel/thresholds"
)

// Terms are what of a policy is explained by.
type Terms struct {
	// SamplesNeeded is how many samples in a row make a node hot.
	SamplesNeeded int
	// Limits keep pods off nodes by measured usage.
	Limits []scorer.Limit
	// Selector chooses the nodes that a cycle is about; nil chooses all.
	Selector *string
	// Protection is the DefaultEvictor's arguments.
	Protection runtime.Object
	// MovesByUsage: cycles make plans to explain by.
	MovesByUsage bool
}

// Desk explains. It lasts as long as the process.
type Desk struct {
	observer *observer.Observer
	// nodes is nil in a process that makes no plans.
	nodes listers.NodeLister
	terms atomic.Pointer[Terms]
	// by makes plans once the process has run a cycle.
	by   atomic.Pointer[realusage.Plugin]
	busy atomic.Bool
}

const (
	// Timeout bounds how long a running process takes to explain.
	Timeout = 5 * time.Second
	// judgedPerCycle bounds how many nodes a cycle's log reports.
	judgedPerCycle = 50
)

// New returns a Desk. nodes is nil in a process that makes no plans.
func New(from *observer.Observer, nodes listers.NodeLister, terms *Terms) *Desk {
	d := &Desk{observer: from, nodes: nodes}
	d.Follow(terms)
	return d
}

// Follow explains by another policy from now on.
func (d *Desk) Follow(terms *Terms) {
	d.terms.Store(terms)
	if !terms.MovesByUsage {
		d.by.Store(nil)
	}
}

// Latest are what this process knows now, without a plan: also one that evicts
// nothing.
func (d *Desk) Latest() (*explain.Facts, error) {
	o := d.observer.Latest()
	if o == nil {
		return d.facts(strategies.Observed{})
	}
	return d.facts(strategies.Observed{View: o.View, Board: o.Board, States: o.States, Lines: o.Lines})
}

// facts are what was observed, with the ledger.
func (d *Desk) facts(o strategies.Observed) (*explain.Facts, error) {
	if o.View == nil {
		return nil, errors.New("usage has not been read yet")
	}
	terms := d.terms.Load()
	f := &explain.Facts{
		View: o.View, Board: o.Board, States: o.States, Lines: o.Lines, SamplesNeeded: terms.SamplesNeeded, Limits: terms.Limits,
	}
	f.InFlight, f.Ended = d.observer.Ledger().Moves()
	return f, nil
}

// Study makes a plan to explain by; nothing of it is carried out.
func (d *Desk) Study(ctx context.Context, by *realusage.Plugin, s explain.Subject) (*explain.Facts, error) {
	terms := d.terms.Load()
	selector, err := runner.NodeSelector(terms.Selector)
	if err != nil {
		return nil, err
	}
	nodes, err := runner.ReadyNodes(d.nodes, selector)
	if err != nil {
		return nil, err
	}
	asked := realusage.Asked{Protection: terms.Protection}
	if o := d.observer.Latest(); o != nil && s.Kind == explain.KindPod {
		asked.Pod = explain.FindPod(o.View, s.Namespace, s.Name)
	}
	made, err := by.Study(ctx, nodes, asked)
	if err != nil {
		return nil, fmt.Errorf("planning to explain: %w", err)
	}
	f, err := d.facts(made.Made.Observed)
	if err != nil {
		return nil, err
	}
	f.Planned = &explain.Planned{
		Input: made.Made.Input, Plan: made.Made.Plan, Closed: made.Made.Closed,
		Pod: made.Pod, Protection: made.Protection, Landings: made.Landings,
	}
	return f, nil
}

// Judged is told each plan of a cycle: it keeps who makes plans, and tells the
// log of what was judged.
func (d *Desk) Judged(ctx context.Context, made *realusage.Made) {
	if made.By != nil {
		d.by.Store(made.By)
	}
	d.logJudged(ctx, made)
}

// Explain answers GET /explain/node/NAME and GET /explain/pod/NAMESPACE/NAME.
func (d *Desk) Explain(r *http.Request) (any, error) {
	s, err := explain.SubjectOfPath(r.URL.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", extender.ErrNotFound, err)
	}
	f, err := d.knowing(r.Context(), s)
	if err != nil {
		return nil, err
	}
	told, err := s.Explain(f)
	if errors.Is(err, explain.ErrUnknown) {
		return nil, fmt.Errorf("%w: %w", extender.ErrNotFound, err)
	}
	return told, err
}

// knowing are the facts to explain by, with a plan where this process makes
// plans.
func (d *Desk) knowing(ctx context.Context, s explain.Subject) (*explain.Facts, error) {
	by := d.by.Load()
	if by != nil {
		return d.study(ctx, func(ctx context.Context) (*explain.Facts, error) { return d.Study(ctx, by, s) })
	}
	f, err := d.Latest()
	if err != nil {
		return nil, err
	}
	f.NoPlan = "this replica has run no cycle: another one leads, or the first is to come"
	if d.nodes == nil {
		f.NoPlan = "this process only answers kube-scheduler and makes no plan; ask the one that evicts, or run explain without --extender-url"
	}
	return f, nil
}

// study makes one plan at a time and does not wait for it for long: a what-if
// has kube-scheduler's filters to itself, and a cycle may hold them. A plan
// that nobody waits for any more keeps others from being made until it is done.
func (d *Desk) study(ctx context.Context, makeFacts func(context.Context) (*explain.Facts, error)) (*explain.Facts, error) {
	if !d.busy.CompareAndSwap(false, true) {
		return nil, errors.New("another explanation is being made; ask again")
	}
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	type result struct {
		facts *explain.Facts
		err   error
	}
	done := make(chan result, 1)
	go func() {
		defer d.busy.Store(false)
		defer func() {
			if p := recover(); p != nil { // a question must not end the process that evicts
				done <- result{err: fmt.Errorf("making the plan to explain by: %v", p)}
			}
		}()
		facts, err := makeFacts(ctx)
		done <- result{facts, err}
	}()
	select {
	case made := <-done:
		return made.facts, made.err
	case <-ctx.Done():
		return nil, fmt.Errorf("making the plan to explain by: %w", ctx.Err())
	}
}

// logJudged tells the log about the hot nodes of a cycle.
func (d *Desk) logJudged(ctx context.Context, made *realusage.Made) {
	logger := klog.FromContext(ctx).V(2)
	if !logger.Enabled() {
		return
	}
	f, err := d.facts(made.Observed)
	if err != nil {
		return // nothing was observed, so nothing was judged
	}
	f.Planned = &explain.Planned{Input: made.Input, Plan: made.Plan, Closed: made.Closed}
	told := 0
	for i := range f.View.Nodes {
		name := f.View.Snapshot.Nodes[i].Node.Name
		if f.States[name].State != thresholds.Hot {
			continue
		}
		if told++; told > judgedPerCycle {
			logger.Info("More nodes were judged hot than are told of", "told", judgedPerCycle)
			return
		}
		if n, err := explain.OfNode(f, name); err == nil {
			logNode(logger, &n)
		}
	}
}

func logNode(logger klog.Logger, n *explain.Node) {
	none := explain.Amounts{} // of no hot node
	logger.Info("Node judged", "node", klog.KRef("", n.Name), "state", n.State, "since", ptr.Deref(n.Since, time.Time{}), "summary", n.Summary,
		"over", strings.Join(n.Over, "; "), "samplesOver", n.SamplesOver,
		"hasToLeave", ptr.Deref(n.HasToLeave, none), "predicted", ptr.Deref(n.Predicted, none), "ceiling", n.Ceiling, "moves", len(n.Leave), "leftAlone", n.LeftAlone, "declined", len(n.Declined))
}
