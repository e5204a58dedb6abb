package annotations

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// Unit is the unit of an annotation's number.
type Unit = source.Unit

// The units of annotations.
const (
	// Auto derives the unit from the number of decimals.
	Auto = source.Auto
	// Fraction is 0 to 1 with five decimals, Percent 0 to 100 with one.
	Fraction = source.Fraction
	Percent  = source.Percent
)

// decimals is the number of decimals written for each unit. Auto uses it to detect the
// unit.
var decimals = map[Unit]int{Fraction: 5, Percent: 1}

const (
	// stampLayout ends in a meaningless Z, because writers put their local time before
	// it.
	stampLayout = "2006-01-02T15:04:05Z"
	// minStamp is the shortest stamp that Crane's readers accept.
	minStamp = 5
	// maxValue is longer than any value that a writer produces.
	maxValue = 64
	// highestFraction is the highest plausible usage as a fraction, with a margin
	// for inexact measurements. A higher number can only be a percentage.
	highestFraction = 1.5
	// highestPercent is above any real percentage. Linux counts some CPU time twice, but
	// never that much.
	highestPercent = 400
)

// prefixes are the prefixes of the annotations' keys.
var prefixes = map[usage.Metric]string{usage.CPU: "cpu_usage_", usage.Memory: "mem_usage_"}

// Value is an annotation's value as written.
type Value struct {
	// Number is the part before the comma, and Decimals the number of digits after its
	// decimal point.
	Number   float64
	Decimals int
	// Wall is the time that the writer's clock showed, as if in UTC; In converts
	// it.
	Wall time.Time
}

// Key returns the annotation key of a metric over a window; empty if there is
// none.
func Key(metric usage.Metric, window usage.Window) string {
	prefix, ok := prefixes[metric]
	if !ok {
		return ""
	}
	return prefix + window.String()
}

// ParseKey is the inverse of Key. It returns false instead of an error, because other
// tools have keys of their own.
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

// Format returns an annotation's value: a percentage converted to unit, and the time of
// measurement in location (UTC if nil). Auto is written as Fraction, which Crane's own
// readers expect.
func Format(percent float64, unit Unit, at time.Time, location *time.Location) string {
	if location == nil {
		location = time.UTC
	}
	if unit != Percent {
		unit, percent = Fraction, percent/100
	}
	return strconv.FormatFloat(percent, 'f', decimals[unit], 64) + "," + at.In(location).Format(stampLayout)
}

// Parse reads an annotation's value. The cause is empty if the value is valid.
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

// plain reports whether a number consists of digits, at most one decimal point
// and at most one minus sign, without exponents or hexadecimal digits.
func plain(number string) bool {
	digits := strings.TrimPrefix(number, "-")
	whole, part, _ := strings.Cut(digits, ".")
	notDigit := func(r rune) bool { return r < '0' || r > '9' }
	return whole != "" && strings.IndexFunc(whole+part, notDigit) < 0
}

// Reported returns the unit implied by a value's notation, or Auto if it implies none.
func (v Value) Reported() Unit {
	switch {
	case v.Decimals == decimals[Fraction]:
		return Fraction
	case v.Decimals == decimals[Percent], v.Number > highestFraction:
		return Percent
	}
	return Auto
}

// Percent returns the value in percent and the unit that was used. stated is the unit in
// the policy. The cause is empty if value and unit are consistent.
func (v Value) Percent(stated Unit) (percent float64, unit Unit, cause usage.Cause) {
	unit = stated
	if stated != Fraction && stated != Percent {
		unit = v.Reported()
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

// In returns when a value was written, assuming that its writer's clock shows the time of
// the given location. If clocks were put back and an hour occurs twice, In returns the
// earlier time, so that a value never seems fresher than it is.
func (v Value) In(location *time.Location) time.Time {
	year, month, day := v.Wall.Date()
	hour, minute, second := v.Wall.Clock()
	at := time.Date(year, month, day, hour, minute, second, 0, location)
	if earlier := at.Add(-time.Hour); earlier.Hour() == at.Hour() {
		return earlier
	}
	return at
}
