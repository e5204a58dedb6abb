// Package nodesync publishes what Evenkeel knows about nodes on the nodes
// themselves, for readers that do not know Evenkeel: usage windows as
// Crane-format annotations, a label on hot nodes, and taints on hot nodes and
// on nodes above the reject line.
//
// Decide is pure and determines what one node should have; Syncer applies it,
// on the leader only; Remove removes everything again. Other packages measure
// usage and decide what is hot, including hysteresis.
//
// Invariants: content of another writer is never changed or removed, not even under the
// same key; a node that is correct is not patched; an unknown node is not changed,
// because unknown usage is no reason for a change.
//
// An annotation on the node records the keys and values that were written. A key is ours
// only while it has the recorded value. Server-side apply with a field manager would also
// keep such a record. But a field manager cannot own a single taint (the API declares the
// list atomic), fails completely if another writer has changed one of its keys, and is
// lost in caches and tools that drop managedFields. Every patch carries the
// resourceVersion for which it was decided, so that changes made in between are not
// overwritten. After a conflict, the node is read again and a new decision is made.
//
// It needs the permissions to get, list and patch nodes; the caller watches
// them.
package nodesync

import (
	"cmp"
	"time"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/annotations"
)

// Policy defines what to publish. The zero Policy publishes nothing and removes
// everything that was published before.
type Policy struct {
	Annotations Annotations
	Label       Mark
	// Taint is set on hot nodes, RejectTaint on hot nodes and on nodes above
	// the reject line. With both, kube-scheduler prefers hot nodes least.
	Taint, RejectTaint Mark
	// Record is the key of the annotation that records what is ours. If it is empty,
	// RecordKey is used.
	Record string
}

func (p Policy) recordKey() string { return cmp.Or(p.Record, RecordKey) }

// Annotations defines the windows to publish in Crane's format.
type Annotations struct {
	Enabled bool
	Windows []usage.Window
	// Unit is annotations.Fraction or annotations.Percent.
	Unit annotations.Unit
	// Location is the time zone of the timestamps; nil means UTC.
	Location *time.Location
	// Periods holds the time between two writes of a window. Windows that are not listed
	// use annotations.DefaultPeriod.
	Periods map[usage.Window]time.Duration
}

// Mark is a label, or a taint with the effect PreferNoSchedule.
type Mark struct {
	Enabled    bool
	Key, Value string
}

func (a Annotations) period(window usage.Window) time.Duration {
	if period, ok := a.Periods[window]; ok {
		return period
	}
	return annotations.DefaultPeriod(window)
}
