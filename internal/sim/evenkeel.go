package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/safeguards"
	"github.com/evenkeel/evenkeel/strategies/realusage"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
)

// Policy is a policy as Evenkeel's rooms take it.
type Policy struct {
	// Observer lacks Sources, Now, Gated and Metrics, which a run has of its own.
	Observer observer.Config
	Args     *policy.RealUsageLowNodeUtilizationArgs
	Options  realusage.Options
	Rules    *safeguards.Rules
	// Interval is the least time between two evictions, Deadline how long a cycle may take, MoveTTL how long a move.
	Interval, Deadline, MoveTTL time.Duration
	// OwnerPercent is the share of an owner's replicas that may be on the move at once.
	OwnerPercent float64
	// OwnerSettle is how long after an owner's rollout began its pods are left alone.
	OwnerSettle time.Duration
	// OutcomeAfter is how long after its landing a move is judged.
	OutcomeAfter time.Duration
}

// evenkeel observes a world, steers its kube-scheduler and evicts, as its Variant says.
type evenkeel struct {
	policy   *Policy
	world    *world
	source   *source
	tally    *tally
	observer *observer.Observer
	judge    *steering.Judge
	filters  *placement.Filters
	plugin   *realusage.Plugin
	// clock is the time of the run, began when the cycle began, step when its step did.
	clock, began, step time.Time
	verdict            *safeguards.Verdict
	err                error
}

func newEvenkeel(ctx context.Context, p *Policy, tally *tally) (*evenkeel, error) {
	e := &evenkeel{policy: p, tally: tally, clock: beginning}
	windows := []usage.Window{usage.Last, usage.Avg5m}
	for _, window := range p.Observer.Usage.Windows {
		if !slices.Contains(windows, window) {
			windows = append(windows, window)
		}
	}
	e.source = &source{now: e.now, windows: windows}
	config := p.Observer
	config.Now, config.Sources = e.now, []observer.Source{e.source}
	var err error
	if e.observer, err = observer.New(config); err != nil {
		return nil, fmt.Errorf("making the observer: %w", err)
	}
	e.judge = steering.NewJudge(e.observer, e.now)
	if e.filters, err = placement.New(ctx, placement.Config{}); err != nil {
		return nil, fmt.Errorf("building kube-scheduler's filters: %w", err)
	}
	return e, nil
}

func (e *evenkeel) now() time.Time { return e.clock }

// join watches a world, whose pods stand.
func (e *evenkeel) join(w *world) (err error) {
	e.world, e.source.world, e.clock = w, w, w.start
	store := e.observer.Store()
	for _, node := range w.nodes {
		store.SetNode(node)
	}
	for _, pod := range w.pods() {
		store.SetPod(pod)
	}
	w.watcher, w.told = e, func(now time.Time) { e.clock = now }
	h := &handle{world: w, evict: func(context.Context, *v1.Pod) error { return nil }}
	e.plugin, err = realusage.New(e.policy.Args, h, realusage.Deps{
		Observe:    e.observed,
		Session:    e.session,
		Refuse:     e.refuse,
		Disruption: e.disruption,
		Moving:     e.observer.Ledger().Moving,
		Options:    e.policy.Options,
		Execute:    e.execute,
	})
	return err
}

// observe takes a reading at an offset of a step.
func (e *evenkeel) observe(ctx context.Context, step time.Time, offset time.Duration) {
	e.step, e.clock = step, step.Add(offset)
	e.observer.Sample(ctx)
}

// cycle plans and carries the plan out.
func (e *evenkeel) cycle(ctx context.Context) error {
	e.began, e.err, e.verdict = e.clock, nil, nil
	e.observer.Ledger().Expire(e.clock)
	e.judgeMoves()
	if status := e.plugin.Balance(ctx, e.world.nodes); status != nil && status.Err != nil {
		return status.Err
	}
	return e.err
}

func (e *evenkeel) observed() realusage.Observed {
	latest := e.observer.Latest()
	observed := realusage.Observed{
		View: latest.View, Board: latest.Board, States: latest.States, Lines: latest.Lines, Closed: latest.Closed(),
		MaxMoves: e.restrained().Left(),
	}
	if reason, detail := e.restrained().Closed(); reason != "" && observed.Closed == "" {
		observed.Closed = string(reason) + ": " + detail
	}
	return observed
}

func (e *evenkeel) session(context.Context) (*placement.Session, error) {
	if err := e.filters.Sync(e.world.nodes, e.world.pods()); err != nil {
		return nil, fmt.Errorf("bringing the filters up to date: %w", err)
	}
	return e.filters.Begin(), nil
}

// restrained is what may be evicted now.
func (e *evenkeel) restrained() *safeguards.Verdict {
	if e.verdict == nil {
		facts := safeguards.Facts{CycleStart: e.began, Nodes: len(e.world.nodes), Health: healthy}
		facts.InFlight, facts.Ended = e.observer.Ledger().Moves()
		e.verdict = e.policy.Rules.At(facts, e.clock)
	}
	return e.verdict
}

// healthy is how every replacement is: nothing fails in a replay.
func healthy(string) safeguards.Health { return safeguards.Health{Known: true, Ready: true} }

func (e *evenkeel) refuse(pod *v1.Pod) reasons.Reason {
	if reason := e.disturbs(pod); reason != "" {
		return reason
	}
	verdict := e.restrained()
	for _, ask := range []func() (reasons.Reason, string){
		func() (reasons.Reason, string) { return verdict.Owner(ownerOf(pod)) },
		func() (reasons.Reason, string) { return verdict.Node(pod.Spec.NodeName) },
		func() (reasons.Reason, string) { return verdict.Namespace(pod.Namespace) },
		func() (reasons.Reason, string) { return verdict.Pool("") },
	} {
		if reason, _ := ask(); reason != "" {
			return reasons.Reason(reason)
		}
	}
	return ""
}

func ownerOf(pod *v1.Pod) string {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return string(owner.UID)
	}
	return ""
}

// judgeMoves looks at what the moves that landed have brought, as cooldowns go by it.
func (e *evenkeel) judgeMoves() {
	latest := e.observer.Latest()
	_, ended := e.observer.Ledger().Moves()
	for i := range ended {
		move := &ended[i]
		if move.State != ledger.Landed || move.Outcome != nil || e.clock.Sub(move.Ended) < e.policy.OutcomeAfter {
			continue
		}
		facts := ledger.OutcomeFacts{Now: e.clock, Exists: true, Ready: true}
		if from := latest.View.Snapshot.Index(move.From); from >= 0 {
			facts.SourceUsed = latest.View.Nodes[from].Current[usage.AtAvg5m]
			facts.SourceHot = latest.States[move.From].State == thresholds.Hot
		}
		if to := latest.View.Snapshot.Index(move.Node); to >= 0 {
			_, facts.DestinationOver = latest.Lines.Over(to)
		}
		e.observer.Ledger().Judge(move.PodUID, ledger.Assess(*move, facts))
	}
}
