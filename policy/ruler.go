package policy

import (
	"fmt"
	"math"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy/check"
)

// ruler checks the levels of one metric: their range and their order.
type ruler struct {
	// percent reports whether levels are restricted to 0 to 100. Otherwise any finite
	// number is allowed.
	percent bool
	// reversed reports whether lower values of the metric are worse.
	reversed bool
	// deviation reports whether levels are distances from the mean: low is below the
	// mean, and the others are above it.
	deviation bool
	// gap is the policy's MinGapPercent.
	gap float64
}

// all checks a metric's own levels and then those of each window.
func (r ruler) all(lines MetricLines, path *field.Path) field.ErrorList {
	errs := r.ranges(lines.Levels, path)
	windows := check.SortedWindows(lines.Windows)
	for _, w := range windows {
		at := path.Child("windows").Key(w.String())
		errs = append(errs, check.Window(at, w)...)
		errs = append(errs, r.ranges(lines.Windows[w], at)...)
	}
	if len(errs) > 0 {
		return errs // comparing them would only repeat the mistake
	}
	errs = r.order(lines.Levels, path)
	if lines.Leave != nil && !lines.hasEvict() {
		errs = append(errs, field.Forbidden(path.Child("leave"), "without an evict line no node is hot that could leave it"))
	}
	if len(errs) > 0 {
		return errs
	}
	// Moves are not planned by an hour's maximum, so nothing fills a node up to the evict
	// line of such a window. The gap therefore applies only to current usage.
	r.gap = 0
	for _, w := range windows {
		errs = append(errs, r.order(lines.In(w), path.Child("windows").Key(w.String()))...)
	}
	return errs
}

func (r ruler) ranges(l Levels, path *field.Path) field.ErrorList {
	inRange := finite
	if r.percent {
		inRange = check.Percent
	}
	var errs field.ErrorList
	for _, level := range []struct {
		name  string
		value *float64
	}{{"low", l.Low}, {"reject", l.Reject}, {"evict", l.Evict}, {"leave", l.Leave}} {
		if level.value != nil {
			errs = append(errs, inRange(path.Child(level.name), *level.value)...)
		}
	}
	return errs
}

// order checks low < reject, reject + gap <= evict and low < leave <= evict, for the levels that are set.
func (r ruler) order(l Levels, path *field.Path) field.ErrorList {
	if r.deviation {
		l.Low = nil // low is on the other side of the mean
	}
	above, below := "above", "below"
	if r.reversed {
		above, below = below, above
	}
	errs := r.lowOf(l, below, path)
	errs = append(errs, r.gapOf(l, below, path)...)
	switch {
	case l.Leave == nil:
	case l.Evict != nil && r.less(*l.Evict, *l.Leave):
		errs = append(errs, field.Invalid(path.Child("leave"), *l.Leave,
			fmt.Sprintf("must not be %s the evict line (%v)", above, *l.Evict)))
	// A misplaced low line has already been reported.
	case len(errs) == 0 && l.Low != nil && !r.less(*l.Low, *l.Leave):
		errs = append(errs, field.Invalid(path.Child("leave"), *l.Leave,
			fmt.Sprintf("must be %s the low line (%v)", above, *l.Low)))
	}
	return errs
}

// lowOf checks the low line against the next level that is set.
func (r ruler) lowOf(l Levels, below string, path *field.Path) field.ErrorList {
	name, next := "reject", l.Reject
	if next == nil {
		name, next = "evict", l.Evict
	}
	if l.Low == nil || next == nil || r.less(*l.Low, *next) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("low"), *l.Low,
		fmt.Sprintf("must be %s the %s line (%v)", below, name, *next))}
}

// gapOf checks the distance between reject and evict.
func (r ruler) gapOf(l Levels, below string, path *field.Path) field.ErrorList {
	if l.Reject == nil || l.Evict == nil {
		return nil
	}
	reject, evict, gap := *l.Reject, *l.Evict, r.gap
	if r.reversed {
		reject, evict = -reject, -evict
	}
	text := fmt.Sprintf("%v points", gap)
	if !r.percent {
		text = fmt.Sprintf("%v%% of it", gap)
		gap *= math.Abs(evict) / 100
	}
	switch {
	case reject+gap <= evict, reject <= evict-gap: // the same test except for rounding
		return nil
	case r.gap == 0:
		return field.ErrorList{field.Invalid(path.Child("reject"), *l.Reject,
			fmt.Sprintf("must be %s the evict line (%v) or at it", below, *l.Evict))}
	}
	return field.ErrorList{field.Invalid(path.Child("reject"), *l.Reject,
		fmt.Sprintf("must be at least %s %s the evict line (%v)", text, below, *l.Evict))}
}

func (r ruler) less(a, b float64) bool {
	if r.reversed {
		return a > b
	}
	return a < b
}

func finite(path *field.Path, value float64) field.ErrorList {
	if !math.IsNaN(value) && !math.IsInf(value, 0) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, "must be a finite number")}
}
