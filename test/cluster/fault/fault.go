// Package fault defines what can be wrong with a source of usage. It applies faults that
// do not depend on the format to an HTTP server: no response, a late response, an error,
// half of the text, or far too much text. Faults that depend on the format, such as wrong
// values, are left to the packages that know it: exporters and faultproxy. The zero Fault
// means no fault.
package fault

import "time"

// Kind is one way in which a source misbehaves.
type Kind string

// The kinds of faults. Those up to Huge work with any HTTP server.
const (
	// None changes nothing.
	None Kind = ""
	// Down closes each connection without an answer.
	Down Kind = "down"
	// Slow answers correctly, but late.
	Slow Kind = "slow"
	// Status answers only with an HTTP status.
	Status Kind = "status"
	// Truncated ends the true answer in the middle, in a well-formed HTTP message.
	Truncated Kind = "truncated"
	// Huge answers with 200 MB: the true answer after that much white space, which a reader
	// without a size limit would accept.
	Huge Kind = "huge"

	// Missing omits the values. The response is empty if it contains nothing else.
	Missing Kind = "missing"
	// HalfMissing omits every second node, OneMissing the first one, in the order of names.
	HalfMissing Kind = "half-missing"
	OneMissing  Kind = "one-missing"
	// NaN, Negative, Tenfold and Hundredth replace each value: with NaN, with -1, with ten
	// times the value, and with a hundredth of it. Tenfold turns 97% into 970%; Hundredth
	// turns a percentage into a fraction.
	NaN       Kind = "nan"
	Negative  Kind = "negative"
	Tenfold   Kind = "tenfold"
	Hundredth Kind = "hundredth"
	// Shifted adds an offset to each timestamp.
	Shifted Kind = "shifted"
	// Duplicate reports each value twice, the second time halved.
	Duplicate Kind = "duplicate"
)

// Fault is a Kind with its parameters.
type Fault struct {
	Kind Kind
	// Delay is how late Slow answers.
	Delay time.Duration
	// Shift is the offset that Shifted adds, for example 8 hours if a clock in Shanghai is
	// mistaken for UTC.
	Shift time.Duration
	// Code is the HTTP status of Status.
	Code int
}

// OfKind returns a fault without parameters.
func OfKind(kind Kind) Fault { return Fault{Kind: kind} }

// SlowBy returns a fault that answers late.
func SlowBy(delay time.Duration) Fault { return Fault{Kind: Slow, Delay: delay} }

// ShiftedBy returns a fault with wrong timestamps.
func ShiftedBy(shift time.Duration) Fault { return Fault{Kind: Shifted, Shift: shift} }

// WithStatus returns a fault that answers with an HTTP error.
func WithStatus(code int) Fault { return Fault{Kind: Status, Code: code} }

// Value applies the fault to a value. nan means that the value is not a number, which
// each format writes differently.
func (f Fault) Value(truth float64) (value float64, nan bool) {
	switch f.Kind {
	case NaN:
		return 0, true
	case Negative:
		return -1, false
	case Tenfold:
		return 10 * truth, false
	case Hundredth:
		return truth / 100, false
	default:
		return truth, false
	}
}

// Time applies the fault to a timestamp.
func (f Fault) Time(at time.Time) time.Time {
	if f.Kind == Shifted {
		return at.Add(f.Shift)
	}
	return at
}
