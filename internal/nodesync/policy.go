// Package nodesync publishes what Evenkeel knows of nodes on the nodes
// themselves, for readers that know nothing of Evenkeel: windows of usage as
// Crane-format annotations, a label and a taint on hot nodes.
//
// Decide is pure and says what one node is to have; Syncer makes it so, on the
// leader alone; Remove takes it all away again. What is hot is decided
// elsewhere, hysteresis included, and so is what was used.
//
// Invariants: what another writer put on a node is never changed or removed,
// not even where it has the same key; nothing is patched that is as it should
// be; of an unknown node nothing is changed, since nothing known is no reason
// to.
//
// What was written is recorded on the node, in an annotation with keys and
// values, and is ours only while the value is the recorded one. Server-side
// apply with a field manager would keep such a record too, but it cannot own
// one taint (the API declares the list atomic), fails whole where another
// writer has changed one of its keys, and is lost on the caches and tools that
// drop managedFields. Every patch holds the resourceVersion that was decided
// on, so that nothing written in between is overwritten; a conflict means to
// read the node and decide again.
//
// It needs the permissions get, list and patch of nodes; watching them is the
// caller's.
package nodesync

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/annotations"
)

// Policy is what to publish. The zero Policy publishes nothing and takes away
// what was published before.
type Policy struct {
	Annotations Annotations
	Label       Mark
	Taint       Mark
	// Record is the annotation that says what is ours: ApartRecordKey, or
	// RecordKey where it is empty.
	Record string
}

func (p Policy) recordKey() string { return cmp.Or(p.Record, RecordKey) }

// Annotations says which windows to publish in Crane's format.
type Annotations struct {
	Enabled bool
	Windows []usage.Window
	// Unit is annotations.Fraction or annotations.Percent.
	Unit annotations.Unit
	// Location is the zone whose clock the stamps show; nil is UTC.
	Location *time.Location
	// Periods are how often a window is written; those missing are as
	// annotations.DefaultPeriod has it.
	Periods map[usage.Window]time.Duration
}

// Mark is a label or a taint with the effect PreferNoSchedule, there while its
// node is hot.
type Mark struct {
	Enabled    bool
	Key, Value string
}

const (
	minPeriod = 10 * time.Second
)

// Validate says what is wrong with a policy.
func (p Policy) Validate() error {
	var errs []error
	if !slices.Contains(recordKeys(), p.recordKey()) {
		errs = append(errs, fmt.Errorf("nodesync: record %q; allowed: %q", p.Record, recordKeys()))
	}
	if p.Annotations.Enabled {
		errs = append(errs, p.Annotations.validate())
	}
	errs = append(errs, p.Label.validate(KindLabel), p.Taint.validate(KindTaint))
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
