// Package usage turns samples of real usage into what the deciding rooms may
// rely on: windows with an age, per node and per pod, where missing is never
// zero.
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

// The metrics that Evenkeel knows by itself; a policy can name others.
const (
	// CPU is in milli-cores, Memory in bytes: the working set.
	CPU    Metric = "cpu"
	Memory Metric = "memory"
	// The pressures are the percentage of time in which some task waited for
	// the resource (PSI "some"), 0 to 100.
	CPUPressure    Metric = "cpu.pressure"
	MemoryPressure Metric = "memory.pressure"
	IOPressure     Metric = "io.pressure"
)

// Reading is one value that a source has of a node: a metric over a window.
type Reading struct {
	Metric Metric
	Window Window
	// At is when it was measured, by the clock of whoever measured.
	At time.Time
	// Value is in milli-cores for CPU, bytes for Memory, else in the metric's
	// own unit.
	Value float64
	// MaxAge is how old this window may become before its source no longer
	// vouches for it; zero means what the Batch says. How long the node itself
	// counts as known is the Batch's in any case.
	MaxAge time.Duration
}

// LastReadings are the readings of a source that knows the newest value of cpu
// and memory.
func LastReadings(at time.Time, used cluster.Amounts) []Reading {
	return []Reading{
		{Metric: CPU, Window: Last, At: at, Value: float64(used[cluster.CPU])},
		{Metric: Memory, Window: Last, At: at, Value: float64(used[cluster.Memory])},
	}
}

// NodeSample is what a source has of a whole node, system daemons included.
// Readings of one metric and window count once; others of the same are
// duplicates.
type NodeSample struct {
	Name     string
	Readings []Reading
}

// Sample is what a source measured of one pod.
type Sample struct {
	// At is when it was measured, by the clock of whoever measured; zero where
	// there is no such sample.
	At   time.Time
	Used cluster.Amounts
}

// PodSample is what a source has of one pod: the last value, the mean of five
// minutes, or both. A mean of five minutes may be given of a pod that is
// younger, if it is the mean of its life.
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
	// MaxAge is how old a sample of this source may be; zero means what the
	// Store's Config says.
	MaxAge time.Duration
	Nodes  []NodeSample
	Pods   []PodSample
	// Problems are what the source itself had to leave out.
	Problems Problems
}

// Cause is what is wrong with a sample that was not taken.
type Cause string

// The causes for which samples are not taken.
const (
	// Stale samples are older than MaxAge, Future ones newer than the clock by
	// as much.
	Stale  Cause = "stale"
	Future Cause = "future"
	// Absurd samples are negative, not finite, or far more than the node has.
	Absurd Cause = "absurd"
	// Contradictory samples of a node are far less than its pods use, or a
	// fraction where a percentage is due.
	Contradictory Cause = "contradictory"
	// UnmatchedNode and UnmatchedPod series belong to no node or pod of the
	// cluster.
	UnmatchedNode Cause = "unmatched_node"
	UnmatchedPod  Cause = "unmatched_pod"
	// Duplicate samples are of what has one already in the same Batch.
	Duplicate Cause = "duplicate"
	// Unreadable is what no sense could be made of, Unreachable what did not
	// answer.
	Unreadable  Cause = "unreadable"
	Unreachable Cause = "unreachable"
)

// Causes lists every Cause.
func Causes() []Cause {
	return []Cause{Stale, Future, Absurd, Contradictory, UnmatchedNode, UnmatchedPod, Duplicate, Unreadable, Unreachable}
}

// maxExamples bounds the examples of a Problem.
const maxExamples = 5

// Problem is how many samples were not taken for one cause, and a few of them
// by name.
type Problem struct {
	Count    int
	Examples []string
}

// Problems holds one Problem per Cause. The zero value is ready to be added to.
type Problems map[Cause]Problem

// Add counts one sample that was not taken; example names it for a person.
func (p *Problems) Add(cause Cause, example string) { p.add(cause, 1, example) }

// Merge adds all that another counted.
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
