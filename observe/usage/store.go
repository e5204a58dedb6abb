package usage

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
)

// Config defines how samples are kept and when there are enough of them.
type Config struct {
	// SampleInterval is the expected time between two Batches. It determines the size of
	// the rings.
	SampleInterval time.Duration
	// MaxAge is the maximum age of the newest sample of a node or pod. If the sample is
	// older, the node or pod is unknown. A Batch may override MaxAge.
	MaxAge time.Duration
	// MinWindow is how long the samples must span before they count.
	MinWindow time.Duration
	// Startup is how long after the start of its newest container a pod's usage
	// does not count as evidence; 0 for none.
	Startup time.Duration
	// Rise is the duration over which a rise of memory is detected, at most Avg5m.Over; 0
	// disables the detection.
	Rise time.Duration
	// Windows are read for nodes in addition to Last and Avg5m.
	Windows []Window
	// Signals are metrics read for nodes in addition to CPU and Memory.
	Signals []Metric
	// Optional marks the resources that may be missing from a known node, because no rule
	// judges them. A missing one counts as zero.
	Optional [cluster.NumResources]bool
	// SignalsOnly means that no rule judges any resource. A node is then known
	// once a source reports it, even without readings; a signal that is missing
	// from the newest sample is absent.
	SignalsOnly bool
	// Estimate applies to pods that have not been measured long enough.
	Estimate Estimate
	// Recurs is the period in which usage is expected to recur; without a Period,
	// patterns are not looked for.
	Recurs forecast.Clock
}

// Store keeps samples per node and pod. It is not safe for concurrent use.
type Store struct {
	config     Config
	windows    []Window // Last, Avg5m and the configured ones
	metrics    []Metric // CPU, Memory and the configured ones
	epoch      time.Time
	limits     limits
	newest     uint32 // the second of the newest Batch
	newestPods uint32 // the second of the newest Batch with pods
	nodes      map[string]*nodeSeries
	order      []*podSeries // of all pods, in the order of the last snapshot
	index      podIndex     // of order
	// batches holds, for each source, the pods of its newest Batch with pods, in the
	// Batch's order; nil for a sample without a pod.
	batches map[string][]*podSeries
	owners  owners // of order
	// recurs is the period of the owners' patterns.
	recurs forecast.Clock
	// families are the families of the last View.
	families map[familyKey]version
	// lacking is the number of ready nodes without a sample in the last Batches.
	lacking int
}

// NewStore returns an empty Store whose clock starts at epoch.
func NewStore(config Config, epoch time.Time) (*Store, error) {
	if config.SampleInterval <= 0 || config.MaxAge <= 0 || config.MinWindow < 0 || config.Startup < 0 {
		return nil, errors.New("usage store: SampleInterval and MaxAge must be positive, MinWindow and Startup not negative")
	}
	if config.Rise < 0 || config.Rise > Avg5m.Over {
		return nil, fmt.Errorf("usage store: Rise must be 0 to %v", Avg5m.Over)
	}
	if config.MinWindow > Avg5m.Over {
		return nil, fmt.Errorf("usage store: MinWindow must be at most %v", Avg5m.Over)
	}
	s := &Store{
		config:  config,
		windows: Distinct([]Window{Last, Avg5m}, config.Windows),
		metrics: Distinct([]Metric{CPU, Memory}, config.Signals),
		// The monotonic reading is removed, because Go would otherwise use it for differences between times. Samples
		// have no such reading, and after a step the two clocks never agree again.
		epoch:   epoch.Round(0).Add(-2 * MaxReach), // so that no relevant second is before the epoch
		nodes:   map[string]*nodeSeries{},
		index:   newPodIndex(),
		batches: map[string][]*podSeries{},
		owners:  newOwners(maphash.MakeSeed()),
		recurs:  config.Recurs,
	}
	s.limits = limitsFor(s.windows, config.SampleInterval)
	return s, nil
}

// Distinct appends the elements of more that are not in the list yet.
func Distinct[T comparable](list, more []T) []T {
	for _, v := range more {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

// Windows returns the windows that are read for nodes, Last and Avg5m first.
func (s *Store) Windows() []Window { return slices.Clone(s.windows) }

// Metrics returns the metrics that are read for nodes, CPU and Memory first.
func (s *Store) Metrics() []Metric { return slices.Clone(s.metrics) }

// Lacking returns the number of ready nodes without a sample in the last
// Batches.
func (s *Store) Lacking() int { return s.lacking }

// EndHistory marks the end of a source's history; live samples follow. Samples of the
// history have the times of our queries, which can be later than a live sample's
// timestamp. So the next sample counts as new.
func (s *Store) EndHistory() {
	for _, ns := range s.nodes {
		ns.newest = sampled{}
	}
}

// Shift accounts for a step of the clock during which no additional time passed, so that
// all stored samples keep their ages. The sources' clocks may have stepped as well, so
// the next sample counts as new, whatever its timestamp is.
func (s *Store) Shift(by time.Duration) {
	s.epoch = s.epoch.Add(by)
	for _, ns := range s.nodes {
		ns.newest.anyIsNewer()
		for m := range ns.metrics {
			for w := range ns.metrics[m].given {
				ns.metrics[m].given[w].anyIsNewer()
			}
		}
	}
	for _, ps := range s.order {
		ps.newest.anyIsNewer()
	}
}

// PodCPU is the measured CPU usage of a pod.
type PodCPU struct {
	// MilliCores is the five-minute mean, or the mean of the shorter time for which the
	// pod was observed.
	MilliCores int64
	// Levels is what the pod used in the last day or two; empty if it was not observed
	// for five minutes.
	Levels forecast.Levels
}

// PodCPU returns the measured usage of the pods of the last snapshot, by UID. Pods
// without a fresh sample are left out.
func (s *Store) PodCPU() map[string]PodCPU {
	all := make(map[string]PodCPU, len(s.order))
	since := s.newest - min(s.newest, uint32(Avg5m.Over/time.Second))
	for _, ps := range s.order {
		if ps.newest.fresh(s.newest) {
			used, _ := podMean(ps, since)
			all[ps.pod.UID] = PodCPU{MilliCores: used[cluster.CPU], Levels: ps.levels}
		}
	}
	return all
}

func (s *Store) second(t time.Time) uint32 { return clamp32(int64(t.Sub(s.epoch) / time.Second)) }

func (s *Store) time(second uint32) time.Time {
	return s.epoch.Add(time.Duration(second) * time.Second)
}

// Span is a stretch of the past that windows are computed from.
type Span struct{ Since, Step time.Duration }

// Spans returns the spans that fill every window, beginning with the one that
// reaches back furthest: means for long windows, then samples.
func (s *Store) Spans() []Span {
	var spans []Span
	if s.limits.means > 0 {
		spans = append(spans, Span{Since: time.Duration(s.limits.means) * meanLength, Step: meanLength})
	}
	return append(spans, Span{Since: time.Duration(s.limits.samples-2) * s.config.SampleInterval, Step: s.config.SampleInterval})
}

// series returns the series of a pod, or nil. Pods mostly come in the order of
// the last snapshot. next is the place to try first, because a lookup costs
// more than everything else done with a pod.
func (s *Store) series(pod *cluster.Pod, next *int) *podSeries {
	if *next < len(s.order) && s.order[*next].pod.UID == pod.UID && pod.UID != "" {
		*next++
		return s.order[*next-1]
	}
	ps := s.index.pod(pod.Namespace, pod.Name)
	if ps == nil || ps.pod.UID != pod.UID {
		return nil
	}
	*next = int(ps.place) + 1
	return ps
}

// sampled returns the series of a sample's pod, or nil. Samples mostly come in
// the order of the same source's previous Batch. next is the place there to try
// first.
func (s *Store) sampled(sample *PodSample, before []*podSeries, next *int) *podSeries {
	if *next < len(before) {
		if ps := before[*next]; ps != nil && ps.place != gone && ps.isOf(sample.Namespace, sample.Name) {
			*next++
			return ps
		}
	}
	ps := s.index.pod(sample.Namespace, sample.Name)
	if ps != nil && int(ps.inBatch) < len(before) && before[ps.inBatch] == ps {
		*next = int(ps.inBatch) + 1
	}
	return ps
}
