package main

import (
	"fmt"
	"slices"

	"github.com/evenkeel/evenkeel/hack/measure"
)

// aspect is the part of a row that its goal applies to.
type aspect int

const (
	// informational has no goal.
	informational aspect = iota
	// value compares the figure itself: at most the goal.
	value
	// speedup is the rival's figure divided by this one: at least the goal.
	speedup
	// share is this figure divided by the rival's: at least the goal.
	share
	// growth is this figure divided by the rival's: at most the goal.
	growth
)

// goal is the goal of a row.
type goal struct {
	of   aspect
	want float64
}

type row struct {
	label  string
	figure measure.Series
	// beside is the floor or rival with which the figure is compared, multiplied by times (0
	// means 1). besideLabel describes it.
	beside      measure.Series
	besideLabel string
	times       float64
	goal        goal
}

// result is a row's outcome. If the figure is missing, or the rival that its goal refers
// to, the goal is neither met nor missed.
type result struct {
	figure, beside, ratio float64
	// measured and rival report whether there are figures for the row and for its rival.
	measured, rival bool
}

func (r result) compared() bool { return r.measured && r.rival }

// evaluate computes a row's medians. The ratio is the median of the ratios of all rounds,
// or the ratio of the medians if the two sides have different numbers of rounds.
func (r row) evaluate(all measure.Figures) result {
	mine, theirs := all[r.figure], r.rivals(all)
	got := result{figure: measure.Median(mine), beside: measure.Median(theirs), measured: len(mine) > 0, rival: len(theirs) > 0}
	if !got.compared() {
		return got
	}
	if len(mine) != len(theirs) {
		mine, theirs = []float64{got.figure}, []float64{got.beside}
	}
	if r.goal.of == speedup {
		mine, theirs = theirs, mine
	}
	got.ratio = measure.Median(measure.Ratios(mine, theirs))
	return got
}

// rivals returns the rival's values, multiplied by times.
func (r row) rivals(all measure.Figures) []float64 {
	values := slices.Clone(all[r.beside])
	for i := range values {
		values[i] *= max(r.times, 1)
	}
	return values
}

// verdict returns whether a row meets its goal, as worded in the table.
func (r row) verdict(got result) string {
	switch {
	case !got.measured:
		return "not run"
	case r.goal.of == informational:
		return ""
	case r.goal.of != value && !got.compared():
		return "nothing beside"
	}
	held := false
	switch r.goal.of {
	case informational: // has no verdict
	case value:
		held = got.figure <= r.goal.want
	case speedup, share:
		held = got.ratio >= r.goal.want
	case growth:
		held = got.ratio <= r.goal.want
	}
	if held {
		return "held"
	}
	return missed
}

// missed is the verdict that makes --check fail.
const missed = "missed"

// text formats the goal for the table.
func (g goal) text(unit string) string {
	switch g.of {
	case informational:
	case value:
		return "at most " + inUnit(g.want, unit)
	case speedup:
		return fmt.Sprintf("%gx faster", g.want)
	case share:
		return fmt.Sprintf("at least %gx", g.want)
	case growth:
		return fmt.Sprintf("at most %gx", g.want)
	}
	return ""
}
