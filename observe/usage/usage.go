// Package usage turns samples of real usage into what decisions may rely on:
// windows with an age, per node and per pod, where missing is never zero.
//
// A Store keeps samples in bounded rings; a View is the immutable reading of a
// Store against a cluster.Snapshot. Both sides of Evenkeel, the strategy and
// the scorer, read the same View. Sources live in one sub-package each and
// deliver a Batch; nothing in this package asks for the time or does I/O.
package usage

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Metric names something that is measured of a node.
type Metric string

// The built-in metrics; a policy can name others.
const (
	// CPU is in milli-cores, Memory in bytes: the working set.
	CPU    Metric = "cpu"
	Memory Metric = "memory"
	// The pressures are the percentage of time in which some task waited for
	// the resource (PSI "some"), 0 to 100.
	CPUPressure    Metric = "cpu.pressure"
	MemoryPressure Metric = "memory.pressure"
	IOPressure     Metric = "io.pressure"
	// CPUStolen is the CPU time that a virtual machine was denied because others
	// had it or its credits were used up, in milli-cores. It reduces what the node
	// has; see NodeUsage.StolenMilliCores.
	CPUStolen Metric = "cpu.stolen"
	// CPUContention is how long the containers of a node wait for a CPU that
	// others have: see Contention.
	CPUContention Metric = "cpu.contention"
)

// OfTime reports whether a built-in metric is a percentage of the time.
func (m Metric) OfTime() bool {
	return m == CPUPressure || m == MemoryPressure || m == IOPressure || m == CPUContention
}

// Reading is one value of a node from a source: a metric over a window.
type Reading struct {
	Metric Metric
	Window Window
	// At is when it was measured, by the clock of the measuring side.
	At time.Time
	// Value is in milli-cores for CPU, bytes for Memory, else in the metric's
	// own unit.
	Value float64
	// MaxAge is for how long its source considers this window valid; zero means
	// the Batch's MaxAge. Whether the node counts as known depends on the Batch
	// in any case.
	MaxAge time.Duration
}

// LastReadings returns the readings of a source that knows the newest value of
// cpu and memory.
func LastReadings(at time.Time, used cluster.Amounts) []Reading {
	return []Reading{
		{Metric: CPU, Window: Last, At: at, Value: float64(used[cluster.CPU])},
		{Metric: Memory, Window: Last, At: at, Value: float64(used[cluster.Memory])},
	}
}

// NodeSample is a source's sample of a whole node, system daemons included. The
// first reading of a metric and window counts; others are duplicates.
type NodeSample struct {
	Name     string
	Readings []Reading
}

// Sample is what a source measured of one pod.
type Sample struct {
	// At is when it was measured, by the clock of the measuring side; zero if
	// there is no such sample.
	At   time.Time
	Used cluster.Amounts
}

// PodSample is a source's sample of one pod: the last value, the mean of five
// minutes, or both. A younger pod may have a mean if it is that of its life.
type PodSample struct {
	Namespace, Name string
	Last, Avg5m     Sample
}

// Batch is one complete reading of a source: all nodes and all pods it knows. A
// reading that failed in part is no Batch.
type Batch struct {
	Source string
	// Received is when the reading arrived, by this process's clock.
	Received time.Time
	// MaxAge is how old a sample of this source may be; zero means the MaxAge
	// of the Store's Config.
	MaxAge time.Duration
	Nodes  []NodeSample
	Pods   []PodSample
	// Problems are the samples that the source itself left out.
	Problems Problems
}

// Cause is why a sample was rejected.
type Cause string

// The causes for which samples are rejected.
const (
	// Stale samples are older than MaxAge, Future ones are that far ahead of
	// the clock.
	Stale  Cause = "stale"
	Future Cause = "future"
	// Absurd samples are negative, not finite, or far more than the node has.
	Absurd Cause = "absurd"
	// Contradictory samples of a node are far less than its pods use, a fraction
	// where a percentage is due, or more stolen CPU than the node leaves unused.
	Contradictory Cause = "contradictory"
	// UnmatchedNode and UnmatchedPod series belong to no node or pod of the
	// cluster.
	UnmatchedNode Cause = "unmatched_node"
	UnmatchedPod  Cause = "unmatched_pod"
	// Duplicate samples repeat one in the same Batch.
	Duplicate Cause = "duplicate"
	// Foreign samples are of a node or pod by their labels, but were scraped
	// elsewhere: whoever runs a pod that is scraped can write such.
	Foreign Cause = "foreign"
	// SeveralClusters means that an answer has series of several clusters.
	SeveralClusters Cause = "several_clusters"
	// Unreadable samples could not be interpreted, Unreachable servers did not
	// answer.
	Unreadable  Cause = "unreadable"
	Unreachable Cause = "unreachable"
)

// Causes lists every Cause.
func Causes() []Cause {
	return []Cause{Stale, Future, Absurd, Contradictory, UnmatchedNode, UnmatchedPod, Duplicate, Foreign, SeveralClusters, Unreadable, Unreachable}
}

// maxExamples bounds the examples of a Problem.
const maxExamples = 5

// Problem counts the samples rejected for one cause and names a few of them.
type Problem struct {
	Count    int
	Examples []string
}

// Problems holds one Problem per Cause. The zero value is ready for use.
type Problems map[Cause]Problem

// Add counts one rejected sample; example names it for people.
func (p *Problems) Add(cause Cause, example string) { p.add(cause, 1, example) }

// Merge adds the counts of other.
func (p *Problems) Merge(other Problems) {
	for cause, problem := range other {
		p.add(cause, problem.Count, problem.Examples...)
	}
}

func (p *Problems) add(cause Cause, count int, examples ...string) {
	if *p == nil {
		*p = Problems{}
	}
	sum := (*p)[cause]
	sum.Count += count
	room := max(min(maxExamples-len(sum.Examples), len(examples)), 0)
	sum.Examples = append(sum.Examples, examples[:room]...)
	(*p)[cause] = sum
}
