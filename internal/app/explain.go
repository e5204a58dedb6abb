package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	nodeutil "sigs.k8s.io/descheduler/pkg/descheduler/node"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/explain"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/realusage"
	"github.com/evenkeel/evenkeel/thresholds"
)

// ExplainOptions are the flags of `evenkeel explain` beside the common ones.
type ExplainOptions struct {
	// Format is one of Formats.
	Format string
	// ExtenderURL is a running process to ask; empty: this one observes and plans itself.
	ExtenderURL string
	// Progress is told what takes time.
	Progress io.Writer
}

// Explain is `evenkeel explain node NAME` and `evenkeel explain pod NAMESPACE/NAME`: it says why, and changes nothing.
func Explain(ctx context.Context, options Options, wanted ExplainOptions, words []string, out io.Writer) error {
	if err := ValidFormat(wanted.Format); err != nil {
		return err
	}
	s, err := parseSubject(words)
	if err != nil {
		return exit.Usage(err)
	}
	var told explanation
	if wanted.ExtenderURL != "" {
		told, err = askToExplain(ctx, wanted.ExtenderURL, s)
	} else {
		told, err = explainHere(ctx, options, s, wanted.Progress)
	}
	if err != nil {
		return err
	}
	return write(out, wanted.Format, told, told.Table)
}

// explanation is an explain.Node or explain.Pod.
type explanation interface{ Table(out io.Writer) error }

// explainHere observes, plans as a cycle would and explains.
func explainHere(ctx context.Context, options Options, s subject, progress io.Writer) (told explanation, err error) {
	options.DryRun, options.LeaderElect, options.MetricsAddress = true, false, "0"
	var a *App
	planned, failed := (*explain.Facts)(nil), error(nil)
	a, err = newApp(ctx, options, parts{evicting: true, onlyRealUsage: true, notes: progress, execute: func(ctx context.Context, made realusage.Made) {
		planned, failed = a.study(ctx, made.By, s)
	}})
	if err != nil {
		return nil, err
	}
	if err := a.start(ctx, func(ctx context.Context) error { return a.planOnce(ctx, progress) }); err != nil {
		return nil, err
	}
	if err := errors.Join(ctx.Err(), failed); err != nil {
		return nil, err
	}
	if planned == nil {
		if planned, err = a.latest(); err != nil {
			return nil, err
		}
		planned.NoPlan = "no plan was made; it takes two ready nodes"
	}
	return s.explain(planned)
}

// latest are what this process knows now, without a plan: also one that evicts nothing.
func (a *App) latest() (*explain.Facts, error) {
	o := a.observer.Latest()
	if o == nil {
		return a.facts(strategies.Observed{})
	}
	return a.facts(strategies.Observed{View: o.View, Board: o.Board, States: o.States, Lines: o.Lines})
}

// facts are what was observed, with the ledger.
func (a *App) facts(o strategies.Observed) (*explain.Facts, error) {
	if o.View == nil {
		return nil, errors.New("usage has not been read yet")
	}
	f := &explain.Facts{
		View: o.View, Board: o.Board, States: o.States, Lines: o.Lines, SamplesNeeded: a.load.Hot.ConsecutiveSamples,
	}
	if measured := settings.Measured(a.load.Scoring.Measured); measured != nil {
		f.Limits = measured.Limits
	}
	f.InFlight, f.Ended = a.observer.Ledger().Moves()
	return f, nil
}

// study makes a plan to explain by; nothing of it is carried out.
func (a *App) study(ctx context.Context, by *realusage.Plugin, s subject) (*explain.Facts, error) {
	nodes, err := a.eligible()
	if err != nil {
		return nil, err
	}
	asked := realusage.Asked{Protection: policyfile.Protection(a.profiles)}
	if o := a.observer.Latest(); o != nil && s.kind == kindPod {
		asked.Pod = explain.FindPod(o.View, s.namespace, s.name)
	}
	made, err := by.Study(ctx, nodes, asked)
	if err != nil {
		return nil, fmt.Errorf("planning to explain: %w", err)
	}
	f, err := a.facts(made.Made.Observed)
	if err != nil {
		return nil, err
	}
	f.Planned = &explain.Planned{
		Input: made.Made.Input, Plan: made.Made.Plan, Closed: made.Made.Closed,
		Pod: made.Pod, Protection: made.Protection, Landings: made.Landings,
	}
	return f, nil
}

// eligible are the nodes that a cycle would be about.
func (a *App) eligible() ([]*v1.Node, error) {
	selector := labels.Everything()
	if s := a.profiles.NodeSelector; s != nil {
		parsed, err := labels.Parse(*s)
		if err != nil {
			return nil, fmt.Errorf("reading nodeSelector %q: %w", *s, err)
		}
		selector = parsed
	}
	nodes, err := a.informers.Core().V1().Nodes().Lister().List(selector)
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	ready := make([]*v1.Node, 0, len(nodes))
	for _, node := range nodes {
		if nodeutil.IsReady(node) {
			ready = append(ready, node)
		}
	}
	return ready, nil
}

// desk is where a running process is asked to explain. The zero value is ready.
type desk struct {
	// by makes plans once the process has run a cycle.
	by   atomic.Pointer[realusage.Plugin]
	busy atomic.Bool
}

const (
	// explainTimeout bounds how long a running process takes to explain.
	explainTimeout = 5 * time.Second
	// judgedPerCycle bounds how many nodes a cycle's log tells of.
	judgedPerCycle = 50
)

// judged is told each plan of a cycle: it keeps who makes plans, and tells the log of what was judged.
func (a *App) judged(ctx context.Context, d *desk, made *realusage.Made) {
	if made.By != nil {
		d.by.Store(made.By)
	}
	a.logJudged(ctx, made)
}

// explains answers GET /explain/node/NAME and GET /explain/pod/NAMESPACE/NAME.
func (a *App) explains(d *desk) extender.Report {
	return func(r *http.Request) (any, error) {
		s, err := subjectOfPath(r.URL.Path)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", extender.ErrNotFound, err)
		}
		f, err := a.current().knowing(r.Context(), d, s)
		if err != nil {
			return nil, err
		}
		told, err := s.explain(f)
		if errors.Is(err, explain.ErrUnknown) {
			return nil, fmt.Errorf("%w: %w", extender.ErrNotFound, err)
		}
		return told, err
	}
}

// knowing are the facts to explain by, with a plan where this process makes plans.
func (a *App) knowing(ctx context.Context, d *desk, s subject) (*explain.Facts, error) {
	by := d.by.Load()
	if by != nil {
		return d.study(ctx, func(ctx context.Context) (*explain.Facts, error) { return a.study(ctx, by, s) })
	}
	f, err := a.latest()
	if err != nil {
		return nil, err
	}
	f.NoPlan = "this replica has run no cycle: another one leads, or the first is to come"
	if a.informers == nil {
		f.NoPlan = "this process only answers kube-scheduler and makes no plan; ask the one that evicts, or run explain without --extender-url"
	}
	return f, nil
}

// study makes one plan at a time and does not wait for it for long: a what-if has kube-scheduler's filters to itself, and a
// cycle may hold them. A plan that nobody waits for any more keeps others from being made until it is done.
func (d *desk) study(ctx context.Context, makeFacts func(context.Context) (*explain.Facts, error)) (*explain.Facts, error) {
	if !d.busy.CompareAndSwap(false, true) {
		return nil, errors.New("another explanation is being made; ask again")
	}
	ctx, cancel := context.WithTimeout(ctx, explainTimeout)
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
func (a *App) logJudged(ctx context.Context, made *realusage.Made) {
	logger := klog.FromContext(ctx).V(2)
	if !logger.Enabled() {
		return
	}
	f, err := a.facts(made.Observed)
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
	var hasToLeave, predicted explain.Amounts
	var since time.Time
	if n.Since != nil {
		since = *n.Since
	}
	if n.HasToLeave != nil && n.Predicted != nil { // as of every hot node
		hasToLeave, predicted = *n.HasToLeave, *n.Predicted
	}
	logger.Info("Node judged", "node", klog.KRef("", n.Name), "state", n.State, "since", since, "summary", n.Summary,
		"over", strings.Join(n.Over, "; "), "samplesOver", n.SamplesOver, "hasToLeave", hasToLeave, "predicted", predicted,
		"ceiling", n.Ceiling, "moves", len(n.Leave), "leftAlone", n.LeftAlone, "declined", len(n.Declined))
}
