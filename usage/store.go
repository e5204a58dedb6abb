package usage

import (
	"errors"
	"fmt"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Config says how samples are kept and when they are good enough.
type Config struct {
	// SampleInterval is how often a Batch is expected; it bounds the rings.
	SampleInterval time.Duration
	// MaxAge is how old the newest sample of a node or pod may be; beyond it the node or pod is unknown.
	MaxAge time.Duration
	// MinWindow is how long the samples must span before a window counts.
	MinWindow time.Duration
	// Estimate stands in for pods that have not been measured long enough.
	Estimate Estimate
}

// Store keeps the samples of the last WindowLength per node and pod. It is not safe for concurrent use.
type Store struct {
	config Config
	epoch  time.Time
	limit  int
	source string
	newest uint32 // the second of the newest Batch
	nodes  map[string]*nodeSeries
	pods   map[podKey]*series
}

type podKey struct{ namespace, name string }

// series is one measured thing. measured is the newest sample's own time, which must advance for a sample to be new.
type series struct {
	uid      string
	measured int64 // unix nanoseconds
	used     ring
}

type nodeSeries struct {
	series
	system ring
}

// NewStore returns an empty Store whose clock starts at epoch.
func NewStore(config Config, epoch time.Time) (*Store, error) {
	if config.SampleInterval <= 0 || config.MaxAge <= 0 || config.MinWindow < 0 {
		return nil, errors.New("usage store: SampleInterval and MaxAge must be positive and MinWindow not negative")
	}
	if config.MinWindow > WindowLength {
		return nil, fmt.Errorf("usage store: MinWindow must be at most %v", WindowLength)
	}
	return &Store{
		config: config,
		epoch:  epoch.Add(-2 * WindowLength), // so that no second of interest is before the epoch
		limit:  int(WindowLength/config.SampleInterval) + 2,
		nodes:  map[string]*nodeSeries{},
		pods:   map[podKey]*series{},
	}, nil
}

// Skipped counts the samples of a Batch that were not taken, by cause.
type Skipped struct {
	// Stale samples were older than MaxAge when they arrived, Future ones newer than the clock by as much.
	Stale, Future int
	// Absurd samples were negative, or over four times the node's allocatable.
	Absurd int
	// Unmatched samples belong to no node or pod of the snapshot, Duplicate ones to one seen before in the same Batch.
	Unmatched, Duplicate int
	// Unreadable samples were left out by the source.
	Unreadable int
}

// Ingest takes a Batch in, matched against the snapshot of the same moment. Series of nodes and pods that are no longer in
// the snapshot are dropped, so the store is bounded by the cluster. A Batch from before the newest one means that the clock
// went backwards: what was kept has no age any more, and the store starts anew.
func (s *Store) Ingest(batch Batch, snapshot *cluster.Snapshot) Skipped {
	s.source = batch.Source
	in := ingestion{store: s, batch: batch, second: s.second(batch.Received)}
	if in.second < s.newest {
		s.nodes, s.pods = map[string]*nodeSeries{}, map[podKey]*series{}
	}
	s.newest = in.second
	in.skipped.Unreadable = batch.Unreadable
	in.index()
	nodes := make(map[string]*nodeSeries, len(snapshot.Nodes))
	pods := make(map[podKey]*series, len(s.pods))
	for _, node := range snapshot.Nodes {
		nodes[node.Node.Name] = in.node(node, pods)
	}
	s.nodes, s.pods = nodes, pods
	in.skipped.Unmatched = len(in.nodes) + len(in.pods)
	return in.skipped
}

func (s *Store) second(t time.Time) uint32 { return clamp32(int64(t.Sub(s.epoch) / time.Second)) }

// ingestion is one Batch on its way into the store.
type ingestion struct {
	store   *Store
	batch   Batch
	second  uint32
	nodes   map[string]Sample
	pods    map[podKey]Sample
	skipped Skipped
}

func (in *ingestion) index() {
	in.nodes = make(map[string]Sample, len(in.batch.Nodes))
	for _, n := range in.batch.Nodes {
		if _, ok := in.nodes[n.Name]; ok {
			in.skipped.Duplicate++
			continue
		}
		in.nodes[n.Name] = n.Sample
	}
	in.pods = make(map[podKey]Sample, len(in.batch.Pods))
	for _, p := range in.batch.Pods {
		key := podKey{p.Namespace, p.Name}
		if _, ok := in.pods[key]; ok {
			in.skipped.Duplicate++
			continue
		}
		in.pods[key] = p.Sample
	}
}

// node takes in one node and its pods. The system's share is what the node used beyond its pods.
func (in *ingestion) node(node *cluster.NodePods, kept map[podKey]*series) *nodeSeries {
	ns := in.store.nodes[node.Node.Name]
	if ns == nil {
		ns = &nodeSeries{}
	}
	sample, ok := in.nodes[node.Node.Name]
	delete(in.nodes, node.Node.Name)
	var podsUsed cluster.Amounts
	for _, pod := range node.Pods {
		key := podKey{pod.Namespace, pod.Name}
		ps := in.store.pods[key]
		if ps == nil || ps.uid != pod.UID {
			ps = &series{uid: pod.UID}
		}
		kept[key] = ps
		podsUsed = podsUsed.Plus(in.pod(key, ps, pod, sample.At, node.Node.Allocatable))
	}
	if ok && in.take(&ns.series, sample, node.Node.Allocatable) {
		ns.system.push(pack(in.second, sample.Used.Minus(podsUsed).AtLeastZero()), in.store.limit)
	}
	return ns
}

// pod takes in one pod and returns its part of what its node was measured at. A pod that ran then but is not measured yet
// is charged with its estimate, so that it does not pass for system.
func (in *ingestion) pod(key podKey, ps *series, pod *cluster.Pod, nodeAt time.Time, allocatable cluster.Amounts) cluster.Amounts {
	sample, ok := in.pods[key]
	delete(in.pods, key)
	switch {
	case ok && started(pod, sample.At) && in.take(ps, sample, allocatable):
		return sample.Used
	case started(pod, nodeAt):
		return in.unsampled(ps, pod)
	}
	return cluster.Amounts{}
}

// started says whether the pod ran at a time. A sample from before is of a namesake.
func started(pod *cluster.Pod, at time.Time) bool {
	return !pod.Started.IsZero() && !at.Before(pod.Started)
}

// unsampled is what a running pod without a new sample is taken to use: what it used last, else its estimate.
func (in *ingestion) unsampled(ps *series, pod *cluster.Pod) cluster.Amounts {
	if newest, ok := ps.used.newest(); ok {
		return newest.amounts()
	}
	return in.store.config.Estimate.Of(pod)
}

// take enters a sample of a node, or of a pod on it, unless there is something wrong with it.
func (in *ingestion) take(s *series, sample Sample, allocatable cluster.Amounts) bool {
	measured := sample.At.UnixNano()
	age := in.batch.Received.Sub(sample.At)
	switch {
	case age > in.store.config.MaxAge:
		in.skipped.Stale++
		return false
	case -age > in.store.config.MaxAge:
		in.skipped.Future++
		return false
	case absurd(sample.Used, allocatable):
		in.skipped.Absurd++
		return false
	case measured <= s.measured:
		return false // the source has nothing newer; age goes on growing
	}
	s.measured = measured
	return s.used.push(pack(in.second, sample.Used), in.store.limit)
}

// absurdFactor is how many times its allocatable a node, or one pod on it, may seem to use before the sample is taken for a
// mistake.
const absurdFactor = 4

func absurd(used, allocatable cluster.Amounts) bool {
	for r := range used {
		if used[r] < 0 || allocatable[r] > 0 && used[r]/absurdFactor > allocatable[r] {
			return true
		}
	}
	return false
}
