// Package usage turns samples of real usage into what the deciding rooms may rely on: windows with an age, per node and
// per pod, where missing is never zero.
//
// A Store keeps the samples of the last minutes in bounded rings; a View is the immutable reading of a Store against a
// cluster.Snapshot. Both sides of Evenkeel, the strategy and the scorer, read the same View. Sources live in one
// sub-package each and deliver a Batch; nothing in this package asks for the time or does I/O.
package usage

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Sample is what a source measured of one node or pod.
type Sample struct {
	// At is when it was measured, by the clock of whoever measured.
	At   time.Time
	Used cluster.Amounts
}

// NodeSample is a sample of a whole node, system daemons included.
type NodeSample struct {
	Name string
	Sample
}

// PodSample is a sample of one pod.
type PodSample struct {
	Namespace, Name string
	Sample
}

// Batch is one complete reading of a source: all nodes and all pods it knows. A reading that failed in part is no Batch.
type Batch struct {
	Source string
	// Received is when the reading arrived, by this process's clock.
	Received time.Time
	Nodes    []NodeSample
	Pods     []PodSample
	// Unreadable counts the samples that the source had to leave out because it could not make sense of them.
	Unreadable int
}

// Window names a way of summing up the samples of the last minutes.
type Window uint8

// The windows a policy can name.
const (
	Last Window = iota
	Avg5m
	NumWindows
)

// Windows lists every Window in order.
func Windows() [NumWindows]Window { return [NumWindows]Window{Last, Avg5m} }

// String returns the name that policies, output and metrics use.
func (w Window) String() string {
	switch w {
	case Last:
		return "last"
	case Avg5m:
		return "avg_5m"
	}
	return "unknown"
}

// WindowLength is how far back the rings reach.
const WindowLength = 5 * time.Minute

// WindowAmounts holds one reading per Window.
type WindowAmounts [NumWindows]cluster.Amounts

// Plus adds per window.
func (a WindowAmounts) Plus(b WindowAmounts) WindowAmounts {
	for w := range a {
		a[w] = a[w].Plus(b[w])
	}
	return a
}

// Every returns the same amounts for every window.
func Every(amounts cluster.Amounts) WindowAmounts {
	var a WindowAmounts
	for w := range a {
		a[w] = amounts
	}
	return a
}
