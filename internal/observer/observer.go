// Package observer measures: it samples usage at a steady pace, reads it against the cluster and publishes one immutable
// Observation that both halves of Evenkeel decide on. Between two samples it keeps the published board true to what the
// pod watch and the ledger report. It never evicts and never answers a request.
package observer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
	"github.com/evenkeel/evenkeel/usage"
)

// Source delivers readings of real usage.
type Source interface {
	Sample(ctx context.Context) (usage.Batch, error)
}

// Config is what an Observer depends on.
type Config struct {
	Source Source
	Usage  usage.Config
	Scorer scorer.Config // its Lines are resolved per observation
	// Lines resolves the one definition of hot for a view: fixed, or around the mean of its nodes.
	Lines          func(*usage.View) plan.Lines
	Hot            plan.HotRule
	MinCoverage    float64 // percent of ready nodes with fresh usage below which nothing is evicted
	SampleInterval time.Duration
	Ledger         ledger.Config // OnReserve is the observer's own
	Now            func() time.Time
	Metrics        *Metrics
}

// Observation is everything that is decided on, at one moment. Only its Board changes, by what happens until the next.
type Observation struct {
	At     time.Time
	View   *usage.View
	Board  *scorer.Board
	States map[string]plan.NodeState
	// Lines are what the nodes were judged by.
	Lines plan.Lines
	// Ready counts the ready nodes, Fresh those of them whose usage is known.
	Ready, Fresh int
	// Pods counts the pods on nodes whose usage is known, Measured those of them that were measured long enough.
	Pods, Measured int
	// Batches counts the complete readings so far, First is when the first of them that told of a node was made.
	Batches int
	First   time.Time
	// SourceError is what the last reading failed with; nil when it did not.
	SourceError error
	// Gate is why nothing may be evicted on this observation; empty when it may.
	Gate Gate

	// charged is what the board was adjusted by for pods that came since; changes come under the store's lock.
	charged map[string]cluster.Amounts
}

// Gate is why an observation is not good enough to evict on.
type Gate string

// The reasons to evict nothing.
const (
	GateNoUsage  Gate = "NoUsageData"
	GateCoverage Gate = "UsageCoverageTooLow"
)

// Observer publishes Observations.
type Observer struct {
	config  Config
	store   *informed.Store
	usage   *usage.Store
	ledger  *ledger.Ledger
	latest  atomic.Pointer[Observation]
	batches int
	first   time.Time
}

// New returns an Observer with its Store, to be fed with nodes and pods, and its Ledger.
func New(config Config) (*Observer, error) {
	if config.Source == nil || config.Now == nil || config.Lines == nil || config.SampleInterval <= 0 {
		return nil, errors.New("observer: Source, Now, Lines and SampleInterval must be set")
	}
	readings, err := usage.NewStore(config.Usage, config.Now())
	if err != nil {
		return nil, fmt.Errorf("making the usage store: %w", err)
	}
	o := &Observer{config: config, usage: readings}
	o.store = informed.NewStore(o.changed)
	config.Ledger.OnReserve = func(node string, by cluster.Amounts) {
		if latest := o.latest.Load(); latest != nil {
			latest.Board.Adjust(node, by)
		}
	}
	o.ledger = ledger.New(config.Ledger)
	return o, nil
}

// Store returns the store that has to be fed with nodes and pods.
func (o *Observer) Store() *informed.Store { return o.store }

// Ledger returns the ledger of moves in flight.
func (o *Observer) Ledger() *ledger.Ledger { return o.ledger }

// Latest returns the newest Observation, or nil before the first.
func (o *Observer) Latest() *Observation { return o.latest.Load() }

// Run samples until the context ends. The first sample is taken as soon as nodes and pods are known.
func (o *Observer) Run(ctx context.Context) error {
	for !o.store.Synced() {
		if !sleep(ctx, 20*time.Millisecond) {
			return nil
		}
	}
	ticker := time.NewTicker(o.config.SampleInterval)
	defer ticker.Stop()
	for {
		o.Sample(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Sample takes one reading and publishes the Observation that follows from it. A reading that fails leaves the usage
// known so far to age.
func (o *Observer) Sample(ctx context.Context) {
	started := o.config.Now()
	batch, err := o.config.Source.Sample(ctx)
	if ctx.Err() != nil {
		return
	}
	now := o.config.Now()
	if err != nil {
		klog.FromContext(ctx).Error(err, "Reading usage failed, what is known ages")
	}
	o.ledger.Expire(now)
	var skipped usage.Skipped
	o.store.Observe(func(snapshot *cluster.Snapshot) {
		if err == nil {
			skipped = o.usage.Ingest(batch, snapshot)
			if o.batches++; o.first.IsZero() && len(batch.Nodes) > 0 {
				o.first = now
			}
		}
		o.publish(snapshot, now, err)
	})
	latest := o.Latest()
	o.config.Metrics.observe(latest, skipped, now.Sub(started))
	klog.FromContext(ctx).V(3).Info("Observed", "nodes", len(latest.View.Nodes), "fresh", latest.Fresh, "gate", latest.Gate,
		"skipped", skipped)
}

func (o *Observer) publish(snapshot *cluster.Snapshot, now time.Time, err error) {
	view := o.usage.View(snapshot, now, o.ledger.Expected())
	lines := o.config.Lines(view)
	scoring := o.config.Scorer
	scoring.Lines.Reject = lines.Reject
	next := &Observation{
		At: now, View: view, Board: scorer.NewBoard(view, scoring), Lines: lines, Batches: o.batches, First: o.first, SourceError: err,
		charged: map[string]cluster.Amounts{},
	}
	next.States = o.states(view, lines, err == nil)
	next.Ready, next.Fresh = coverage(view)
	next.Pods, next.Measured = podCoverage(view)
	next.Gate = o.gate(next)
	o.ledger.Reserved(next.Board.Adjust, func() { o.latest.Store(next) })
}

// states classifies after a new reading. Without one no sample is counted: nodes keep their state until they are unknown.
func (o *Observer) states(view *usage.View, lines plan.Lines, fresh bool) map[string]plan.NodeState {
	var before map[string]plan.NodeState
	if previous := o.latest.Load(); previous != nil {
		before = previous.States
	}
	if fresh || before == nil {
		return plan.Classify(before, view, lines, o.config.Hot)
	}
	return plan.Keep(before, view)
}

func coverage(view *usage.View) (ready, fresh int) {
	for i := range view.Nodes {
		if !view.Snapshot.Nodes[i].Node.Ready {
			continue
		}
		ready++
		if view.Nodes[i].Known() {
			fresh++
		}
	}
	return ready, fresh
}

func podCoverage(view *usage.View) (pods, measured int) {
	for i := range view.Nodes {
		if !view.Nodes[i].Known() {
			continue
		}
		for j := range view.Nodes[i].Pods {
			pods++
			if view.Nodes[i].Pods[j].Measured {
				measured++
			}
		}
	}
	return pods, measured
}

func (o *Observer) gate(next *Observation) Gate {
	switch {
	case next.Batches == 0 || next.Ready == 0 || next.Fresh == 0:
		return GateNoUsage
	case 100*float64(next.Fresh) < o.config.MinCoverage*float64(next.Ready):
		return GateCoverage
	}
	return ""
}

// changed keeps the published board true between samples: a pod that came is charged with what it is expected to use, one
// that went is taken off.
func (o *Observer) changed(change informed.Change) {
	latest := o.latest.Load()
	if pod := change.Added; pod != nil {
		o.ledger.Bound(ledgerPod(pod), pod.Node, o.config.Now())
		if latest != nil {
			amounts := o.Estimate(latest, pod.UID, pod.Owner.UID, pod.Requests, pod.Limits)
			latest.charged[pod.UID] = amounts
			latest.Board.Adjust(pod.Node, amounts)
		}
		return
	}
	if pod := change.Removed; pod != nil && latest != nil {
		amounts, ok := latest.charged[pod.UID]
		delete(latest.charged, pod.UID)
		if !ok {
			amounts, ok = latest.predictedOf(pod)
		}
		if ok {
			latest.Board.Adjust(pod.Node, cluster.Amounts{}.Minus(amounts))
		}
	}
}

// Estimate returns what a pod that is not measured yet is expected to use: what its predecessor used, else its siblings'
// mean, else its requests with the policy's factors.
func (o *Observer) Estimate(on *Observation, podUID, ownerUID string, requests, limits cluster.Amounts) cluster.Amounts {
	if amounts, ok := o.ledger.Expects(podUID); ok {
		return amounts
	}
	if amounts, ok := on.Board.Siblings(ownerUID); ok {
		return amounts
	}
	return o.config.Usage.Estimate.For(requests, limits)
}

// predictedOf returns what the view predicted a pod with.
func (o *Observation) predictedOf(pod *cluster.Pod) (cluster.Amounts, bool) {
	i := o.View.Snapshot.Index(pod.Node)
	if i < 0 {
		return cluster.Amounts{}, false
	}
	for j, other := range o.View.Snapshot.Nodes[i].Pods {
		if other.UID == pod.UID {
			return scorer.Highest(o.View.Nodes[i].Pods[j].Used), true
		}
	}
	return cluster.Amounts{}, false
}

func ledgerPod(pod *cluster.Pod) ledger.Pod {
	return ledger.Pod{
		UID: pod.UID, Name: pod.Name, OwnerUID: pod.Owner.UID, OwnerKind: pod.Owner.Kind, TemplateHash: pod.TemplateHash,
	}
}
