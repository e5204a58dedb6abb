package main

import (
	"fmt"
	"slices"

	"github.com/evenkeel/evenkeel/hack/measure"
)

// aspect is what of a row has to keep its goal.
type aspect int

const (
	// told has no goal.
	told aspect = iota
	// value is the figure itself, at most the goal.
	value
	// speedup is how often the figure goes into the one beside it, at least the
	// goal.
	speedup
	// share is what part the figure is of the one beside it, at least the goal.
	share
	// growth is the same, at most the goal.
	growth
)

// goal is what a row has to keep.
type goal struct {
	of   aspect
	want float64
}

// row is a line of the table.
type row struct {
	label  string
	figure measure.Series
	// beside is the figure's floor or rival, taken so many times (0 is once);
	// besideLabel says what it is.
	beside      measure.Series
	besideLabel string
	times       float64
	goal        goal
}

// result is what a row comes to. Without a figure, or without the rival that
// its goal is about, nothing is held or missed.
type result struct {
	figure, beside, ratio float64
	// measured and rival say that there is a figure, and one beside it.
	measured, rival bool
}

func (r result) compared() bool { return r.measured && r.rival }

// evaluate reads a row's medians. The ratio is the median of those of each
// round; where one side has other rounds than the other, it is the ratio of the
// medians.
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

// rivals are the values beside the row's own, as many times as the row says.
func (r row) rivals(all measure.Figures) []float64 {
	values := slices.Clone(all[r.beside])
	for i := range values {
		values[i] *= max(r.times, 1)
	}
	return values
}

// verdict reports whether a row keeps its goal, in the table's words.
func (r row) verdict(got result) string {
	switch {
	case !got.measured:
		return "not run"
	case r.goal.of == told:
		return ""
	case r.goal.of != value && !got.compared():
		return "nothing beside"
	}
	held := false
	switch r.goal.of {
	case told: // has no verdict
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

// missed is the verdict that --check fails with.
const missed = "missed"

// text is the goal in the table's words.
func (g goal) text(unit string) string {
	switch g.of {
	case told:
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
