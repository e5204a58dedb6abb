// Package usage turns samples of real usage into reliable figures for decisions: windows
// with an age, per node and per pod, in which a missing value is never zero.
//
// A Store keeps samples in bounded rings; a View is an immutable result that
// combines a Store with a cluster.Snapshot. Both halves of Evenkeel read the
// same View. Each source lives in its own sub-package and delivers a Batch;
// nothing in this package reads a clock or does I/O.
package usage

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Metric names a quantity that is measured on nodes.
type Metric string

// The built-in metrics; a policy can name others.
const (
	// CPU is in milli-cores, Memory in bytes: the working set.
	CPU    Metric = "cpu"
	Memory Metric = "memory"
	// A pressure is the percentage of time during which some task waited for the resource
	// (PSI "some"), 0 to 100.
	CPUPressure    Metric = "cpu.pressure"
	MemoryPressure Metric = "memory.pressure"
	IOPressure     Metric = "io.pressure"
	// CPUStolen is the CPU time, in milli-cores, that a virtual machine was denied
	// because others had it or its credits were used up. It reduces the node's
	// allocatable; see NodeUsage.StolenMilliCores.
	CPUStolen Metric = "cpu.stolen"
	// CPUContention is how long the containers of a node wait for a CPU that
	// others occupy; see package contention.
	CPUContention Metric = "cpu.contention"
)

// OfTime reports whether the metric is built in and a percentage of time.
func (m Metric) OfTime() bool {
	return m == CPUPressure || m == MemoryPressure || m == IOPressure || m == CPUContention
}

// Reading is one value of a node from a source: one metric over one window.
type Reading struct {
	Metric Metric
	Window Window
	// At is the time of measurement by the measuring side's clock.
	At time.Time
	// Value is in milli-cores for CPU, bytes for Memory, otherwise in the metric's
	// own unit.
	Value float64
	// MaxAge is how long the source considers this window valid; zero means the
	// Batch's MaxAge. It does not affect whether the node counts as known,
	// which depends on the Batch's MaxAge.
	MaxAge time.Duration
}

// LastReadings returns the readings of a source that provides the newest values
// of cpu and memory.
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

// Sample is a source's measurement of one pod.
type Sample struct {
	// At is the time of measurement by the measuring side's clock; zero if there
	// is no such sample.
	At   time.Time
	Used cluster.Amounts
}

// PodSample is a source's sample of one pod: the last value, the five-minute
// mean, or both. A pod younger than five minutes may have a mean over its
// lifetime.
type PodSample struct {
	Namespace, Name string
	Last, Avg5m     Sample
}

// Batch is one complete reading of a source: all nodes and pods that it knows.
// A reading that failed in part is not a Batch.
type Batch struct {
	Source string
	// Received is when the reading arrived, by this process's clock.
	Received time.Time
	// MaxAge is how old a sample of this source may be; zero means the MaxAge
	// of the Store's Config.
	MaxAge time.Duration
	Nodes  []NodeSample
	Pods   []PodSample
	// Problems describes the samples that the source itself left out.
	Problems Problems
}

// Cause is why a sample was rejected.
type Cause string

// The causes for which samples are rejected.
const (
	// Stale samples are older than MaxAge. Future samples are more than MaxAge ahead of
	// the clock.
	Stale  Cause = "stale"
	Future Cause = "future"
	// Absurd samples are negative, not finite, or far more than the node has.
	Absurd Cause = "absurd"
	// Contradictory samples of a node are far below its pods' usage, a fraction
	// instead of a percentage, or more stolen CPU than the node leaves unused.
	Contradictory Cause = "contradictory"
	// UnmatchedNode and UnmatchedPod series belong to no node or pod of the
	// cluster.
	UnmatchedNode Cause = "unmatched_node"
	UnmatchedPod  Cause = "unmatched_pod"
	// Duplicate samples repeat one in the same Batch.
	Duplicate Cause = "duplicate"
	// Foreign samples claim to be about a node or pod by their labels, but were
	// scraped elsewhere. Anyone who runs a scraped pod can write such labels.
	Foreign Cause = "foreign"
	// SeveralClusters means that an answer contains series of several clusters.
	SeveralClusters Cause = "several_clusters"
	// Unreadable samples could not be interpreted. Unreachable servers did not answer.
	Unreadable  Cause = "unreadable"
	Unreachable Cause = "unreachable"
)

// Causes lists every Cause.
func Causes() []Cause {
	return []Cause{Stale, Future, Absurd, Contradictory, UnmatchedNode, UnmatchedPod, Duplicate, Foreign, SeveralClusters, Unreadable, Unreachable}
}

// maxExamples bounds the number of examples in a Problem.
const maxExamples = 5

// Problem counts the samples rejected for one cause and names a few of them.
type Problem struct {
	Count    int
	Examples []string
}

// Problems holds one Problem per Cause. The zero value is ready for use.
type Problems map[Cause]Problem

// Add counts one rejected sample; example names it for the user.
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
