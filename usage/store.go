package usage

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Config says how samples are kept and when they are good enough.
type Config struct {
	// SampleInterval is how often Batches are expected; it bounds the rings.
	SampleInterval time.Duration
	// MaxAge is how old the newest sample of a node or pod may be; beyond it the node or pod is unknown. A Batch may say
	// otherwise for its source.
	MaxAge time.Duration
	// MinWindow is how long the samples must span before they count.
	MinWindow time.Duration
	// Windows are wanted of nodes beside Last and Avg5m.
	Windows []Window
	// Signals are metrics wanted of nodes beside CPU and Memory.
	Signals []Metric
	// Optional resources need not be known for a node to be: nobody judges by them. They count as zero where they are not.
	Optional [cluster.NumResources]bool
	// SignalsOnly says that nobody judges by a resource at all. A node is then known as soon as a source tells of it, if only
	// that it has nothing to tell: a signal that is not in the newest sample is not there.
	SignalsOnly bool
	// Estimate stands in for pods that have not been measured long enough.
	Estimate Estimate
}

// Store keeps samples per node and pod. It is not safe for concurrent use.
type Store struct {
	config  Config
	windows []Window // Last, Avg5m and the configured ones
	metrics []Metric // CPU, Memory and the configured ones
	epoch   time.Time
	limits  limits
	newest  uint32 // the second of the newest Batch
	told    uint32 // the second of the newest Batch with pods
	nodes   map[string]*nodeSeries
	order   []*podSeries // of all pods, in the order of the snapshot last taken in
	index   podIndex     // of order
	// batches hold the pods of each source's newest Batch that had any, in the Batch's order; nil where it had none to match.
	batches map[string][]*podSeries
	owners  owners // of order
	// families are those of the View last made.
	families map[familyKey]version
	// lacking is how many ready nodes got no sample of the last Batches.
	lacking int
}

// podSeries is what was sampled of one pod.
type podSeries struct {
	pod    *cluster.Pod // of the snapshot last taken in
	newest sampled
	used   podRing
	place  int32 // among the pods of the snapshot last taken in, or gone
	// inBatch is its place in the Batch that told of it last.
	inBatch int32
	owner   int32 // its number
	// given is the newest mean of five minutes that a source itself gave, if there were samples ever since; its second is 0
	// where there is none.
	given point
}

func (p *podSeries) isOf(namespace, name string) bool {
	return p.pod.Name == name && p.pod.Namespace == namespace
}

// mean is the mean of the samples since a second: as the source gave it with the newest of them, else summed up here. It
// returns how long the pod was looked at, if it is as old: a source that gave a mean had looked for five minutes, and that
// remains true when the next source gives samples alone.
func (p *podSeries) mean(since uint32) (used cluster.Amounts, span time.Duration, ok bool) {
	if p.given.second == 0 {
		return p.used.mean(since)
	}
	if newest, _ := p.used.newest(); p.given.second == newest.second {
		return p.given.amounts(), Avg5m.Over, true
	}
	used, span, ok = p.used.mean(since)
	if p.given.second >= since {
		span = Avg5m.Over
	}
	return used, span, ok
}

// sampled is when a sample was taken and how old it may become.
type sampled struct {
	measured int64  // unix nanoseconds, which must advance for a sample to be new
	second   uint32 // when it was measured or, if that seems later, when it arrived
	maxAge   uint32 // seconds
}

func (s sampled) fresh(now uint32) bool {
	return s.measured != 0 && uint64(now) <= uint64(s.second)+uint64(s.maxAge)
}

// nodeSeries is what was sampled of one node.
type nodeSeries struct {
	source string
	newest sampled
	// refused is what was wrong with the sample last offered, if it was not taken.
	refused Cause
	// arrived is the second in which the newest sample arrived.
	arrived uint32
	// vouched is how far back the source's own windows reach, where it gives no single samples.
	vouched time.Duration
	metrics []metricSeries // parallel to Store.metrics
	// members tells the running pods, changed is the second in which they were last seen to be others.
	members uint64
	changed uint32
	// system is what belonged to no pod.
	system ring[point]
	// pods is what its pods used when it was sampled last, as far as they were.
	pods cluster.Amounts
}

type metricSeries struct {
	history history
	given   []given // parallel to Store.windows
}

// given is a window that a source gave.
type given struct {
	value float64
	sampled
	// vouched is after how many seconds the source no longer stands by it.
	vouched uint32
	// filled is the second in which another source than the node's own gave it; 0 where its own did.
	filled uint32
}

// told says whether the source still stands by it.
func (g *given) told(now uint32) bool {
	return g.fresh(now) && uint64(now) <= uint64(g.second)+uint64(g.vouched)
}

// NewStore returns an empty Store whose clock starts at epoch.
func NewStore(config Config, epoch time.Time) (*Store, error) {
	if config.SampleInterval <= 0 || config.MaxAge <= 0 || config.MinWindow < 0 {
		return nil, errors.New("usage store: SampleInterval and MaxAge must be positive and MinWindow not negative")
	}
	if config.MinWindow > Avg5m.Over {
		return nil, fmt.Errorf("usage store: MinWindow must be at most %v", Avg5m.Over)
	}
	s := &Store{
		config:  config,
		windows: distinct([]Window{Last, Avg5m}, config.Windows),
		metrics: distinct([]Metric{CPU, Memory}, config.Signals),
		epoch:   epoch.Add(-2 * MaxReach), // so that no second of interest is before the epoch
		nodes:   map[string]*nodeSeries{},
		batches: map[string][]*podSeries{},
		owners:  newOwners(maphash.MakeSeed()),
	}
	s.limits = limitsFor(s.windows, config.SampleInterval)
	return s, nil
}

// distinct appends what is not there yet.
func distinct[T comparable](list, more []T) []T {
	for _, v := range more {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

// Windows returns the windows that are read of nodes, Last and Avg5m first.
func (s *Store) Windows() []Window { return slices.Clone(s.windows) }

// Metrics returns the metrics that are read of nodes, CPU and Memory first.
func (s *Store) Metrics() []Metric { return slices.Clone(s.metrics) }

// Lacking is how many ready nodes got no sample of the Batches last taken in.
func (s *Store) Lacking() int { return s.lacking }

func (s *Store) second(t time.Time) uint32 { return clamp32(int64(t.Sub(s.epoch) / time.Second)) }

func (s *Store) time(second uint32) time.Time {
	return s.epoch.Add(time.Duration(second) * time.Second)
}
