// Package observer samples usage at a steady pace, combines it with the cluster's state
// and publishes one immutable Observation, on which both halves of Evenkeel base their
// decisions. Between two samples it keeps the published board up to date with the pod
// watch and the ledger. When the policy changes, it keeps compatible samples; otherwise
// it uses the old samples until there are enough new ones. It never evicts and never
// answers a request.
package observer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

// Observer publishes Observations.
type Observer struct {
	now      func() time.Time
	local    func() time.Time // nil if steps of the clock are not noticed
	listener Listener
	metrics  *Metrics
	store    *informed.Store
	ledger   *ledger.Ledger
	latest   atomic.Pointer[Observation]
	// unbound holds, by UID, the pods that the watch shows without a node. It is
	// kept outside the store because the store's lock is held while an Observation
	// is made.
	unbound sync.Map // of *cluster.Pod

	// sampling is held while a sample is taken and while the configuration
	// changes; it guards the fields below.
	sampling sync.Mutex
	at       *measuring // its Observations are published
	next     *measuring // replaces "at" when it knows enough; usually nil
	since    time.Time  // when next was created
	steps    steps
	reported reasons.Reason // the gate's state that was last reported
}

// New returns an Observer with its Store, which the caller feeds with nodes and
// pods, and its Ledger.
func New(config Config) (*Observer, error) {
	if config.Now == nil {
		return nil, errors.New("observer: Now must be set")
	}
	at, err := newMeasuring(config, config.Now())
	if err != nil {
		return nil, err
	}
	o := &Observer{now: config.Now, local: config.Local, listener: config.Listener, metrics: config.Metrics, at: at}
	o.store = informed.NewStore(o.changed)
	o.store.SetTaints(config.Taints)
	config.Ledger.Listener = booked{o}
	o.ledger = ledger.New(config.Ledger)
	return o, nil
}

// booked makes the Observer the ledger's listener.
type booked struct{ *Observer }

func (b booked) Reserved(node string, by cluster.Charge) {
	if latest := b.Latest(); latest != nil {
		latest.Board.Adjust(node, by)
	}
}

func (b booked) Ended(move ledger.Move) {
	if b.listener != nil {
		b.listener.Ended(move)
	}
}

// Store returns the store, which the caller must feed with nodes and pods.
func (o *Observer) Store() *informed.Store { return o.store }

// Ledger returns the ledger of moves in flight.
func (o *Observer) Ledger() *ledger.Ledger { return o.ledger }

// Unbound returns the pod with the given UID if the watch shows it without a node,
// otherwise nil. The ledger already knows of a pod that Unbound returns.
func (o *Observer) Unbound(uid string) *cluster.Pod {
	found, _ := o.unbound.Load(uid)
	pod, _ := found.(*cluster.Pod)
	return pod
}

// Adopt brings the ledger in line with the evicting process's document and with
// the cluster.
func (o *Observer) Adopt(document ledger.Document) {
	now := o.now()
	o.ledger.Adopt(document, now)
	if o.store.Synced() {
		o.store.Observe(func(snapshot *cluster.Snapshot) { o.ledger.Reconcile(snapshot, now) })
	}
}

// Latest returns the newest Observation, or nil before the first.
func (o *Observer) Latest() *Observation { return o.latest.Load() }

// Patterns encodes recurring usage patterns of workloads in at most most bytes.
func (o *Observer) Patterns(most int) []byte {
	o.sampling.Lock()
	defer o.sampling.Unlock()
	return o.at.usage.Patterns(most)
}

// PodCPU returns the measured CPU usage of pods now and in the last day or two, by UID.
func (o *Observer) PodCPU() map[string]usage.PodCPU {
	o.sampling.Lock()
	defer o.sampling.Unlock()
	return o.at.usage.PodCPU()
}

// AdoptPatterns takes over recurring patterns that another process has learned.
func (o *Observer) AdoptPatterns(data []byte) error {
	o.sampling.Lock()
	defer o.sampling.Unlock()
	return o.at.usage.AdoptPatterns(data, o.now())
}

// Run samples until the context ends. The first sample is taken as soon as
// nodes and pods are known.
func (o *Observer) Run(ctx context.Context) error {
	known := func(context.Context) (bool, error) { return o.store.Synced(), nil }
	if wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, known) != nil {
		return nil
	}
	interval := o.interval()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		o.Sample(ctx)
		if now := o.interval(); now != interval { // a new policy's sources are in use
			interval = now
			ticker.Reset(interval)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (o *Observer) interval() time.Duration {
	o.sampling.Lock()
	defer o.sampling.Unlock()
	return o.at.config.SampleInterval
}

// Sample takes one reading and publishes its Observation. If the reading fails, the known
// usage is kept and ages.
func (o *Observer) Sample(ctx context.Context) {
	o.sampling.Lock()
	defer o.sampling.Unlock()
	o.followClock(ctx)
	if o.next != nil && o.tryNext(ctx) {
		return
	}
	o.observe(ctx, o.at, func(made *Observation) bool {
		o.publish(made)
		return true
	})
}

// observe takes a reading and makes an Observation from it. It calls use with the
// Observation under the store's lock. use reports whether the Observation was published.
func (o *Observer) observe(ctx context.Context, m *measuring, use func(*Observation) bool) (published bool) {
	started := o.now()
	var before *cluster.Snapshot
	o.store.Observe(func(snapshot *cluster.Snapshot) { before = snapshot })
	read := m.read(ctx, before, o.now)
	if ctx.Err() != nil {
		return false
	}
	now := o.now()
	o.ledger.Expire(now)
	o.store.Observe(func(snapshot *cluster.Snapshot) {
		o.ledger.Reconcile(snapshot, now)
		m.ingest(snapshot, &read, now)
		published = use(m.observation(snapshot, now, &read, o.ledger.Expected()))
	})
	if !published {
		return false
	}
	latest := o.Latest()
	o.metrics.observe(latest, now.Sub(started))
	o.report(latest)
	klog.FromContext(ctx).V(3).Info("Observed", "nodes", len(latest.View.Nodes), "fresh", latest.Fresh, "gate", latest.Blocked)
	return true
}

// publish makes an Observation the latest. It is called under the store's lock.
func (o *Observer) publish(made *Observation) {
	if o.next != nil {
		made.Changing = true
		if made.Blocked == "" {
			made.Blocked = reasons.UsageWindowsFilling
		}
	}
	o.ledger.Reserved(made.Board.Adjust, func() { o.latest.Store(made) })
}

// changed keeps the ledger and the published board up to date between samples:
// a new pod is charged at its expected usage, and a pod that has left is
// discharged.
func (o *Observer) changed(change informed.Change) {
	now := o.now()
	switch {
	case change.Created != nil:
		o.ledger.Created(LedgerPod(change.Created))
		o.unbound.Store(change.Created.UID, change.Created)
	case change.Added != nil:
		o.unbound.Delete(change.Added.UID)
		o.added(change.Added, now)
	case change.Leaving != nil:
		o.ledger.Leaves(change.Leaving.UID, now)
	case change.Removed != nil:
		o.ledger.Left(change.Removed.UID, now)
		o.removed(change.Removed)
	case change.Dropped != nil:
		o.unbound.Delete(change.Dropped.UID)
		o.ledger.Gone(change.Dropped.UID, now)
	}
}

func (o *Observer) added(pod *cluster.Pod, now time.Time) {
	o.ledger.Bound(LedgerPod(pod), pod.Node, now)
	if latest := o.latest.Load(); latest != nil {
		amounts := o.Estimate(latest, &Unmeasured{
			UID: pod.UID, Kin: usage.Kin{Namespace: pod.Namespace, Owner: pod.Owner, TemplateHash: pod.TemplateHash},
			Requests: pod.Requests, Limits: pod.Limits,
		})
		latest.charged[pod.UID] = amounts
		latest.Board.Adjust(pod.Node, cluster.NewCharge(amounts, pod.Requests))
		latest.Board.Bound(pod.Node, now)
	}
}

func (o *Observer) removed(pod *cluster.Pod) {
	latest := o.latest.Load()
	if latest == nil {
		return
	}
	amounts, ok := latest.charged[pod.UID]
	delete(latest.charged, pod.UID)
	if !ok {
		amounts, _ = latest.predictedOf(pod)
	}
	latest.Board.Adjust(pod.Node, cluster.NewCharge(amounts, pod.Requests).Back())
}

// Unmeasured is a pod without measured usage.
type Unmeasured struct {
	UID              string
	Kin              usage.Kin
	Requests, Limits cluster.Amounts
}

// Estimate returns the expected usage of an unmeasured pod: the usage of its predecessor,
// otherwise that of its siblings, otherwise its requests multiplied by the policy's
// factors.
func (o *Observer) Estimate(on *Observation, pod *Unmeasured) cluster.Amounts {
	if amounts, ok := o.ledger.Expects(pod.UID); ok {
		return amounts
	}
	if amounts, ok := on.Board.Siblings(pod.Kin, pod.Limits); ok {
		return amounts
	}
	return on.estimate.For(pod.Requests, pod.Limits)
}

// report reports an Observation and any change of the gate. It does not report
// windows that are still filling after the start.
func (o *Observer) report(latest *Observation) {
	if o.listener != nil {
		o.listener.Observed(latest)
	}
	if latest.Blocked == reasons.UsageWindowsFilling || latest.Blocked == o.reported {
		return
	}
	o.reported = latest.Blocked
	if o.listener != nil {
		o.listener.Gated(latest)
	}
}

// tryNext samples for the next policy and reports whether that policy is now in
// use.
func (o *Observer) tryNext(ctx context.Context) bool {
	period := o.next.config.ObservationPeriod
	return o.observe(ctx, o.next, func(made *Observation) bool {
		if !made.Sufficient(period, o.next.config.SampleInterval, o.next.config.MinCoverage) && made.At.Sub(o.since) <= 2*period {
			return false
		}
		o.next.usage.InheritPatterns(o.at.usage)
		o.at, o.next = o.next, nil
		o.publish(made)
		klog.FromContext(ctx).Info("The new policy's sources and windows are now in use", "observed", made.At.Sub(o.since))
		return true
	})
}

// LedgerPod returns what the ledger needs to know about a pod.
func LedgerPod(pod *cluster.Pod) ledger.Pod {
	return ledger.Pod{
		UID: pod.UID, Namespace: pod.Namespace, Name: pod.Name, OwnerUID: pod.Owner.UID, OwnerKind: pod.Owner.Kind,
		TemplateHash: pod.TemplateHash, Created: pod.Created, Scheduled: pod.Scheduled,
	}
}
