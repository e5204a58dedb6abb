// Package nodesync publishes what Evenkeel knows about nodes on the nodes
// themselves, for readers that do not know Evenkeel: usage windows as
// Crane-format annotations, a label on hot nodes, and taints on hot nodes and
// on nodes above the reject line.
//
// Decide is pure and determines what one node should have; Syncer applies it,
// on the leader only; Remove removes everything again. Other packages measure
// usage and decide what is hot, including hysteresis.
//
// Invariants: what another writer put on a node is never changed or removed,
// not even under the same key; a node that is correct is not patched; an
// unknown node is not changed, because unknown usage is no reason for a change.
//
// An annotation on the node records the keys and values that were written. A
// key is ours only while it has the recorded value. Server-side apply with a
// field manager would keep such a record, too, but it cannot own a single taint
// (the API declares the list atomic), fails completely if another writer has
// changed one of its keys, and is lost in caches and tools that drop
// managedFields. Every patch carries the resourceVersion for which it was
// decided, so that nothing written in between is overwritten. After a conflict
// the node is read and decided again.
//
// It needs the permissions to get, list and patch nodes; the caller watches
// them.
package nodesync

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/annotations"
)

// Policy is what to publish. The zero Policy publishes nothing and removes what
// was published before.
type Policy struct {
	Annotations Annotations
	Label       Mark
	// Taint is on hot nodes, RejectTaint on these and on those above the reject
	// line: with both, kube-scheduler prefers hot nodes least.
	Taint, RejectTaint Mark
	// Record is the annotation that records what is ours: ApartRecordKey or, if
	// empty, RecordKey.
	Record string
}

func (p Policy) recordKey() string { return cmp.Or(p.Record, RecordKey) }

// Annotations are the windows to publish in Crane's format.
type Annotations struct {
	Enabled bool
	Windows []usage.Window
	// Unit is annotations.Fraction or annotations.Percent.
	Unit annotations.Unit
	// Location is the time zone of the timestamps; nil means UTC.
	Location *time.Location
	// Periods are how often windows are written; missing ones use
	// annotations.DefaultPeriod.
	Periods map[usage.Window]time.Duration
}

// Mark is a label, or a taint with the effect PreferNoSchedule.
type Mark struct {
	Enabled    bool
	Key, Value string
}

const (
	minPeriod = 10 * time.Second
)

// Validate returns all errors in a policy.
func (p Policy) Validate() error {
	var errs []error
	if !slices.Contains(recordKeys(), p.recordKey()) {
		errs = append(errs, fmt.Errorf("nodesync: record %q; allowed: %q", p.Record, recordKeys()))
	}
	if p.Annotations.Enabled {
		errs = append(errs, p.Annotations.validate())
	}
	errs = append(errs, p.Label.validate(KindLabel), p.Taint.validate(KindTaint), p.RejectTaint.validate(KindTaint))
	if p.Taint.Enabled && p.RejectTaint.Enabled && p.Taint.Key == p.RejectTaint.Key {
		errs = append(errs, fmt.Errorf("nodesync: both taints have the key %q", p.Taint.Key))
	}
	return errors.Join(errs...)
}

func (m Mark) validate(kind Kind) error {
	if problem := markProblem(m.Key, m.Value); m.Enabled && problem != "" {
		return fmt.Errorf("nodesync: %s %q=%q: %s", kind, m.Key, m.Value, problem)
	}
	return nil
}

func (a Annotations) validate() error {
	if len(a.Windows) == 0 || len(a.Windows) > maxWindows {
		return fmt.Errorf("nodesync: annotations of %d windows; allowed: 1 to %d", len(a.Windows), maxWindows)
	}
	if a.Unit != annotations.Fraction && a.Unit != annotations.Percent {
		return fmt.Errorf("nodesync: annotations in the unit %q; allowed: fraction, percent", a.Unit)
	}
	for _, window := range a.Windows {
		if parsed, err := usage.ParseWindow(window.String()); err != nil || parsed != window {
			return fmt.Errorf("nodesync: annotations of the window %q; allowed: %s", window, usage.WindowNames)
		}
	}
	for window, period := range a.Periods {
		if period < minPeriod || period > usage.MaxReach || !slices.Contains(a.Windows, window) {
			return fmt.Errorf("nodesync: %q is to be written every %v; allowed: %v to %v, for the windows that are written",
				window, period, minPeriod, usage.MaxReach)
		}
	}
	return nil
}

func (a Annotations) period(window usage.Window) time.Duration {
	if period, ok := a.Periods[window]; ok {
		return period
	}
	return annotations.DefaultPeriod(window)
}
