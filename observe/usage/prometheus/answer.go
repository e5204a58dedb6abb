package prometheus

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/internal/jsonscan"
)

// The kinds of results that are requested.
const (
	vector = "vector"
	matrix = "matrix"
)

// point is one value of a series; NaN if the server's value is not a number.
type point struct {
	at    time.Time
	value float64
}

// span locates a label's name and value in series.text.
type span struct{ name, middle, end int }

// series is one series of an answer. It is valid until the next one is read.
type series struct {
	text   []byte
	labels []span
	points []point
}

// label returns the value of a label; nil if it is missing.
func (s *series) label(name string) []byte {
	for _, l := range s.labels {
		if string(s.text[l.name:l.middle]) == name {
			return s.text[l.middle:l.end]
		}
	}
	return nil
}

// maxShownBytes bounds how much of a server's text is shown to users.
const maxShownBytes = 200

// String returns the series in PromQL notation.
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

// shown shortens a text for display.
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

// decoder reads one answer of the HTTP API:
// {"status":…,"data":{"resultType":…,"result":[…]}} with its members in any
// order.
type decoder struct {
	*jsonscan.Scanner
	want  string
	visit func(*series)

	one                        series
	status, errorType, message string
	resultType                 string
	found, partial, data       bool
	warnings                   []string
	stampText                  []byte
	stamp                      time.Time
}

const (
	// windowBytes is how much of a body is held at a time.
	windowBytes = 64 << 10
	// maxLabelBytes bounds all labels of one series.
	maxLabelBytes = 1 << 20
)

// decode calls visit for each series of a result and returns the server's warnings. If it
// returns an error, the caller must discard the visited series.
func decode(body io.Reader, want string, visit func(*series)) ([]string, error) {
	d := &decoder{Scanner: jsonscan.NewReader(windowBytes, jsonscan.OfAnswers), want: want, visit: visit}
	d.Reset(body)
	d.answer()
	if err := d.End(); err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
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

func (d *decoder) answer() {
	for key := range d.Object {
		switch string(key) {
		case "status":
			d.status = d.Text()
		case "errorType":
			d.errorType = d.Text()
		case "error":
			d.message = d.Text()
		case "data":
			d.once(&d.data, "data")
			d.inData()
		case "warnings":
			for range d.Array {
				d.warning()
			}
		case "isPartial": // of VictoriaMetrics
			d.partial = d.Bool()
		}
	}
}

func (d *decoder) inData() {
	for key := range d.Object {
		switch string(key) {
		case "resultType":
			if d.resultType = d.Text(); d.resultType != d.want {
				d.Fail(fmt.Errorf("the result is a %s, not a %s", shown(d.resultType), d.want))
			}
		case "result":
			d.once(&d.found, "result")
			for range d.Array {
				d.element()
			}
		}
	}
}

// once rejects a second occurrence of a member that contains series, because the series
// would count twice.
func (d *decoder) once(seen *bool, name string) {
	if *seen {
		d.Fail(fmt.Errorf("the answer contains %q twice", name))
	}
	*seen = true
}

// maxWarnings bounds how many warnings are kept.
const maxWarnings = 5

func (d *decoder) warning() {
	if text := d.Bytes(); len(d.warnings) < maxWarnings {
		d.warnings = append(d.warnings, shown(string(text)))
	}
}

// element reads and visits one series. Histograms are skipped, so their series have no
// points.
func (d *decoder) element() {
	d.one.text, d.one.labels, d.one.points = d.one.text[:0], d.one.labels[:0], d.one.points[:0]
	for key := range d.Object {
		switch string(key) {
		case "metric":
			d.labels()
		case "value":
			if d.want != vector || len(d.one.points) > 0 {
				d.Fail(errors.New("the result has an unexpected value"))
			}
			d.point()
		case "values":
			if d.want != matrix || len(d.one.points) > 0 {
				d.Fail(errors.New("the result has unexpected values"))
			}
			for range d.Array {
				d.point()
			}
		}
	}
	if d.Err() == nil {
		d.visit(&d.one)
	}
}

func (d *decoder) labels() {
	for key := range d.Object {
		l := span{name: len(d.one.text)}
		d.one.text = append(d.one.text, key...)
		l.middle = len(d.one.text)
		d.one.text = append(d.one.text, d.Bytes()...)
		l.end = len(d.one.text)
		d.one.labels = append(d.one.labels, l)
		if len(d.one.text) > maxLabelBytes {
			d.Fail(fmt.Errorf("a series has labels of more than %d bytes", maxLabelBytes))
		}
	}
}

// point reads a [time,"value"].
func (d *decoder) point() {
	n := 0
	for i := range d.Array {
		switch n = i + 1; i {
		case 0:
			d.time()
		case 1:
			value, err := strconv.ParseFloat(string(d.Bytes()), 64)
			if err != nil {
				value = math.NaN()
			}
			d.one.points = append(d.one.points, point{d.stamp, value})
		}
	}
	if n != 2 {
		d.Fail(fmt.Errorf("a point has %d values instead of a time and a value", n))
	}
}

// time reads a time into d.stamp. All series of a vector have the same time, so
// it is parsed once.
func (d *decoder) time() {
	word := d.Number()
	if d.Err() != nil || len(word) > 0 && string(word) == string(d.stampText) {
		return
	}
	seconds, err := strconv.ParseFloat(string(word), 64)
	at, ok := stampOf(seconds)
	if err != nil || !ok {
		d.Fail(fmt.Errorf("%q is not a time", shown(string(word))))
		return
	}
	d.stampText, d.stamp = append(d.stampText[:0], word...), at
}

// stampOf converts Unix seconds into a time if its year has at most four
// digits.
func stampOf(seconds float64) (time.Time, bool) {
	const most = 253402300799
	if !(seconds >= 0 && seconds <= most) {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(math.Round(seconds * 1000))), true
}
