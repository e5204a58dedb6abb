package prometheus

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// The kinds of results that are asked for.
const (
	vector = "vector"
	matrix = "matrix"
)

// point is one value of a series, which is not a number where the server has one that is none.
type point struct {
	at    time.Time
	value float64
}

// span is where a label's name and value lie in series.text.
type span struct{ name, middle, end int }

// series is one series of an answer. It is valid until the next is read.
type series struct {
	text   []byte
	labels []span
	points []point
}

// label returns the value of a label, nil if there is none.
func (s *series) label(name string) []byte {
	for _, l := range s.labels {
		if string(s.text[l.name:l.middle]) == name {
			return s.text[l.middle:l.end]
		}
	}
	return nil
}

// maxShownBytes bounds what is shown to a person of a text that a server has sent.
const maxShownBytes = 200

// String names the series as a person would write it.
func (s *series) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, l := range s.labels {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s=%q", s.text[l.name:l.middle], s.text[l.middle:l.end])
		if b.Len() > maxShownBytes {
			break
		}
	}
	b.WriteByte('}')
	return shown(b.String())
}

// shown shortens a text for a person.
func shown(text string) string {
	text = strings.ToValidUTF8(strings.Map(printable, text), "?")
	if len(text) <= maxShownBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxShownBytes], "") + "…"
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}

// decoder reads one answer of the HTTP API: {"status":…,"data":{"resultType":…,"result":[…]}} with its members in any order.
type decoder struct {
	scanner
	want  string
	visit func(*series)

	one                          series
	status, errorType, message   string
	resultType                   string
	found, partial, data         bool
	warnings                     []string
	stampText                    []byte
	stamp                        time.Time
	onLabel, onSeries, onElement func() error
	onPoint                      func() error
}

// decode calls visit for each series of a result and returns the server's warnings. What was visited is void if there is an
// error.
func decode(body io.Reader, want string, visit func(*series)) ([]string, error) {
	d := &decoder{scanner: newScanner(body), want: want, visit: visit}
	d.onLabel, d.onSeries, d.onElement, d.onPoint = d.label, d.member, d.element, d.point
	if err := d.members('{', '}', d.top); err != nil {
		return nil, err
	}
	if err := d.ended(); err != nil {
		return nil, err
	}
	switch {
	case d.status == "":
		return nil, errors.New("the answer has no status: is this the Prometheus API?")
	case d.status != "success":
		return nil, fmt.Errorf("the server says %s: %s", shown(d.errorType), shown(d.message))
	case !d.found || d.resultType == "":
		return nil, errors.New("the answer has no result")
	}
	if d.partial {
		d.warnings = append(d.warnings, "the answer is partial")
	}
	return d.warnings, nil
}

// top reads a member of the answer.
func (d *decoder) top() error {
	if err := d.readKey(); err != nil {
		return err
	}
	switch string(d.key) {
	case "status":
		return d.string(&d.status)
	case "errorType":
		return d.string(&d.errorType)
	case "error":
		return d.string(&d.message)
	case "data":
		return d.once(&d.data, func() error { return d.orNull('{', func() error { return d.members('{', '}', d.inData) }) })
	case "warnings":
		return d.orNull('[', func() error { return d.members('[', ']', d.warning) })
	case "isPartial": // of VictoriaMetrics
		word, err := d.word()
		d.partial = string(word) == "true"
		return err
	}
	return d.skip(0)
}

// inData reads a member of the data.
func (d *decoder) inData() error {
	if err := d.readKey(); err != nil {
		return err
	}
	switch string(d.key) {
	case "resultType":
		if err := d.string(&d.resultType); err != nil {
			return err
		}
		if d.resultType != d.want {
			return fmt.Errorf("the result is a %s, not a %s", shown(d.resultType), d.want)
		}
		return nil
	case "result":
		return d.once(&d.found, func() error { return d.orNull('[', func() error { return d.members('[', ']', d.onElement) }) })
	}
	return d.skip(0)
}

func (d *decoder) string(to *string) error {
	text, err := d.text(d.scratch[:0])
	d.scratch, *to = text, string(text)
	return err
}

// once makes sure that a member that has series is not there twice: they would count twice.
func (d *decoder) once(seen *bool, read func() error) error {
	if *seen {
		return fmt.Errorf("the answer has %q twice", d.key)
	}
	*seen = true
	return read()
}

// orNull reads a value that begins with a byte, or is null.
func (d *decoder) orNull(open byte, read func() error) error {
	c, err := d.peek()
	if err != nil || c == open {
		if err == nil {
			err = read()
		}
		return err
	}
	word, err := d.word()
	if err == nil && string(word) != "null" {
		err = d.unexpected(c, string(open))
	}
	return err
}

// maxWarnings bounds the warnings that are kept.
const maxWarnings = 5

func (d *decoder) warning() error {
	var text string
	err := d.string(&text)
	if len(d.warnings) < maxWarnings {
		d.warnings = append(d.warnings, shown(text))
	}
	return err
}

// element reads one series and has it visited.
func (d *decoder) element() error {
	d.one.text, d.one.labels, d.one.points = d.one.text[:0], d.one.labels[:0], d.one.points[:0]
	if err := d.members('{', '}', d.onSeries); err != nil {
		return err
	}
	d.visit(&d.one)
	return nil
}

// member reads a member of a series. Histograms are passed over: such a series comes without points.
func (d *decoder) member() error {
	if err := d.readKey(); err != nil {
		return err
	}
	switch string(d.key) {
	case "metric":
		return d.members('{', '}', d.onLabel)
	case "value":
		if d.want == vector && len(d.one.points) == 0 {
			return d.point()
		}
		return errors.New("the result has a value where none is due")
	case "values":
		if d.want == matrix && len(d.one.points) == 0 {
			return d.members('[', ']', d.onPoint)
		}
		return errors.New("the result has values where none are due")
	}
	return d.skip(0)
}

func (d *decoder) label() (err error) {
	l := span{name: len(d.one.text)}
	if d.one.text, err = d.text(d.one.text); err != nil {
		return err
	}
	l.middle = len(d.one.text)
	if err = d.expect(':'); err != nil {
		return err
	}
	if d.one.text, err = d.text(d.one.text); err != nil {
		return err
	}
	l.end = len(d.one.text)
	d.one.labels = append(d.one.labels, l)
	return nil
}

// point reads a [time,"value"].
func (d *decoder) point() error {
	if err := d.expect('['); err != nil {
		return err
	}
	if err := d.time(); err != nil {
		return err
	}
	if err := d.expect(','); err != nil {
		return err
	}
	text, err := d.text(d.scratch[:0])
	if d.scratch = text; err != nil {
		return err
	}
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		value = math.NaN()
	}
	d.one.points = append(d.one.points, point{d.stamp, value})
	return d.expect(']')
}

// time reads a time into d.stamp. All series of a vector have the same, so it is understood once.
func (d *decoder) time() error {
	word, err := d.word()
	if err != nil {
		return err
	}
	if len(word) > 0 && string(word) == string(d.stampText) {
		return nil
	}
	seconds, err := strconv.ParseFloat(string(word), 64)
	at, ok := stampOf(seconds)
	if err != nil || !ok {
		return fmt.Errorf("%q is no time", shown(string(word)))
	}
	d.stampText, d.stamp = append(d.stampText[:0], word...), at
	return nil
}

// stampOf turns seconds since 1970 into a time, if it lies within four digits' years.
func stampOf(seconds float64) (time.Time, bool) {
	const most = 253402300799
	if !(seconds >= 0 && seconds <= most) {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(math.Round(seconds * 1000))), true
}
