package annotations

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/source"
)

// Unit is what the number of an annotation counts.
type Unit = source.Unit

// The units of annotations.
const (
	// Auto tells the unit from how a number is written.
	Auto = source.Auto
	// Fraction is 0 to 1 with five decimals, Percent 0 to 100 with one.
	Fraction = source.Fraction
	Percent  = source.Percent
)

// decimals is how many each unit is written with; writers differ in it, which
// is how Auto tells them apart.
var decimals = map[Unit]int{Fraction: 5, Percent: 1}

const (
	// stampLayout ends in a Z that means nothing: writers put the time of
	// whatever zone they run in before it.
	stampLayout = "2006-01-02T15:04:05Z"
	// minStamp is how short a stamp Crane's readers still look at.
	minStamp = 5
	// maxValue is longer than any value that a writer makes.
	maxValue = 64
	// highestFraction is how much a machine can plausibly use of itself as a
	// fraction: measuring is not exact. Above it a number can only be a
	// percentage.
	highestFraction = 1.5
	// highestPercent is where a percentage is surely none; Linux counts some
	// CPU time twice, but not so much.
	highestPercent = 400
)

// The prefixes of the annotations' keys.
var prefixes = map[usage.Metric]string{usage.CPU: "cpu_usage_", usage.Memory: "mem_usage_"}

// Value is an annotation's value as it is written.
type Value struct {
	// Number is what stands before the comma, Decimals how many digits follow
	// its point.
	Number   float64
	Decimals int
	// Wall is what a clock on the writer's wall showed, as if it hung in UTC;
	// In turns it into a time.
	Wall time.Time
}

// Key returns the key of the annotation of a metric over a window; it is empty
// for metrics that have none.
func Key(metric usage.Metric, window usage.Window) string {
	prefix, ok := prefixes[metric]
	if !ok {
		return ""
	}
	return prefix + window.String()
}

// ParseKey is the reverse of Key. Keys that mean no metric and window are not
// ours to judge, so it does not say why.
func ParseKey(key string) (usage.Metric, usage.Window, bool) {
	for metric, prefix := range prefixes {
		name, found := strings.CutPrefix(key, prefix)
		if !found {
			continue
		}
		window, err := usage.ParseWindow(name)
		return metric, window, err == nil
	}
	return "", usage.Window{}, false
}

// Format writes an annotation's value: a percentage in a unit, and when it was
// measured as a clock in location shows it (nil: UTC). Auto is written as
// Fraction, which is what Crane's own readers want.
func Format(percent float64, unit Unit, at time.Time, location *time.Location) string {
	if location == nil {
		location = time.UTC
	}
	if unit != Percent {
		unit, percent = Fraction, percent/100
	}
	return strconv.FormatFloat(percent, 'f', decimals[unit], 64) + "," + at.In(location).Format(stampLayout)
}

// Parse reads an annotation's value. The cause is empty if there is nothing
// wrong with it.
func Parse(text string) (Value, usage.Cause) {
	number, stamp, found := strings.Cut(text, ",")
	if !found || len(text) > maxValue || len(stamp) < minStamp || strings.Contains(stamp, ",") {
		return Value{}, usage.Unreadable
	}
	wall, err := time.Parse(stampLayout, stamp)
	if err != nil {
		return Value{}, usage.Unreadable
	}
	switch number {
	case "NaN", "+Inf", "-Inf", "Inf":
		return Value{}, usage.Absurd
	}
	if !plain(number) {
		return Value{}, usage.Unreadable
	}
	value := Value{Wall: wall}
	if value.Number, err = strconv.ParseFloat(number, 64); err != nil {
		return Value{}, usage.Unreadable
	}
	if math.Signbit(value.Number) {
		return Value{}, usage.Absurd
	}
	if point := strings.IndexByte(number, '.'); point >= 0 {
		value.Decimals = len(number) - point - 1
	}
	return value, ""
}

// plain reports whether a number has digits, at most one point and a minus: no
// exponents, no hexadecimals.
func plain(number string) bool {
	digits := strings.TrimPrefix(number, "-")
	whole, part, _ := strings.Cut(digits, ".")
	notDigit := func(r rune) bool { return r < '0' || r > '9' }
	return whole != "" && strings.IndexFunc(whole+part, notDigit) < 0
}

// Told is the unit that the writing of a value tells, or Auto if it tells none.
func (v Value) Told() Unit {
	switch {
	case v.Decimals == decimals[Fraction]:
		return Fraction
	case v.Decimals == decimals[Percent], v.Number > highestFraction:
		return Percent
	}
	return Auto
}

// Percent returns the value in percent, given what the policy says about its
// unit, and the unit it was read in. The cause is empty if that makes sense.
func (v Value) Percent(stated Unit) (percent float64, unit Unit, cause usage.Cause) {
	unit = stated
	if stated != Fraction && stated != Percent {
		unit = v.Told()
	}
	crane := v.Decimals == decimals[Fraction] && v.Number <= highestFraction
	plus := v.Decimals == decimals[Percent] && v.Number > 1
	switch {
	case unit == Auto, unit == Percent && crane, unit == Fraction && (plus || v.Number > highestFraction):
		return 0, unit, usage.Contradictory
	case unit == Percent && v.Number > highestPercent:
		return 0, unit, usage.Absurd
	case unit == Fraction:
		return 100 * v.Number, unit, ""
	}
	return v.Number, unit, ""
}

// In returns when a value was written if its writer's clock shows the time of a
// location. Where clocks are put back and show an hour twice it is the earlier
// time, so that a value is never taken for fresher than it is.
func (v Value) In(location *time.Location) time.Time {
	year, month, day := v.Wall.Date()
	hour, minute, second := v.Wall.Clock()
	at := time.Date(year, month, day, hour, minute, second, 0, location)
	if earlier := at.Add(-time.Hour); earlier.Hour() == at.Hour() {
		return earlier
	}
	return at
}
