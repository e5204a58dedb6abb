package kubelet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Of a summary's bytes a tenth is wanted. So it is read through a small buffer in one pass that knows JSON's outlines and
// looks closely only at what is asked for; what is skipped is not verified beyond its strings and the count of its brackets.
const (
	bufferBytes = 16 << 10
	// maxString bounds a key or a string that is kept; a namespace and a name have 253 bytes at most.
	maxString = 1 << 10
	// maxNumber bounds the digits of a number.
	maxNumber = 64
)

// jsonReader pulls values out of a JSON text. The first error stops it: from then on it finds nothing more, and err keeps it.
type jsonReader struct {
	src        io.Reader
	buf        []byte
	pos, end   int
	text, name []byte // the string read last, the key read last
	err        error
	ended      bool
}

func newJSONReader() *jsonReader { return &jsonReader{buf: make([]byte, bufferBytes)} }

// reset makes the reader read another text.
func (r *jsonReader) reset(src io.Reader) {
	*r = jsonReader{src: src, buf: r.buf, text: r.text, name: r.name}
}

func (r *jsonReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// fill gets more bytes when all have been used; it says whether there are any.
func (r *jsonReader) fill() bool {
	for tries := 0; r.err == nil && tries < 100; tries++ {
		n, err := r.src.Read(r.buf)
		r.pos, r.end = 0, n
		switch {
		case n > 0:
			return true // an error comes again
		case errors.Is(err, io.EOF):
			r.err, r.ended = io.ErrUnexpectedEOF, true
		case err != nil:
			r.err = err
		}
	}
	if r.err == nil {
		r.err = io.ErrNoProgress
	}
	return false
}

// peek returns the next byte that is no white space, 0 at the end or after an error.
func (r *jsonReader) peek() byte {
	for r.err == nil {
		if r.pos == r.end && !r.fill() {
			break
		}
		switch c := r.buf[r.pos]; c {
		case ' ', '\n', '\t', '\r':
			r.pos++
		default:
			return c
		}
	}
	return 0
}

// take consumes the next byte if it is c.
func (r *jsonReader) take(c byte) bool {
	if r.peek() != c || r.err != nil {
		return false
	}
	r.pos++
	return true
}

func (r *jsonReader) expect(c byte) {
	if !r.take(c) {
		r.fail("expected %q, got %q", c, r.peek())
	}
}

// null consumes a null.
func (r *jsonReader) null() bool {
	if r.peek() != 'n' {
		return false
	}
	if word := r.word(); string(word) != "null" {
		r.fail("%q is no value", word)
	}
	return true
}

// object visits each member of an object or null; visit must consume the member's value.
func (r *jsonReader) object(visit func(key []byte)) {
	if r.null() {
		return
	}
	r.expect('{')
	if r.take('}') {
		return
	}
	for r.err == nil {
		r.name = append(r.name[:0], r.string()...)
		r.expect(':')
		if r.err != nil {
			return
		}
		visit(r.name)
		if !r.take(',') {
			r.expect('}')
			return
		}
	}
}

// array visits each element of an array or null; visit must consume it.
func (r *jsonReader) array(visit func()) {
	if r.null() {
		return
	}
	r.expect('[')
	if r.take(']') {
		return
	}
	for r.err == nil {
		visit()
		if !r.take(',') {
			r.expect(']')
			return
		}
	}
}

// string reads a string; the bytes hold until the next one is read. Null is an empty string.
func (r *jsonReader) string() []byte {
	r.text = r.text[:0]
	if r.null() {
		return r.text[:0]
	}
	r.expect('"')
	for {
		rest, last := r.untilQuote()
		if len(r.text)+len(rest) > maxString {
			r.fail("a string is longer than %d bytes", maxString)
		}
		if r.err != nil {
			return nil
		}
		r.text = append(r.text, rest...)
		switch last {
		case '"':
			return r.text
		case '\\':
			r.escape()
		}
	}
}

// untilQuote consumes what is in the buffer up to and with the next quote or backslash, and returns what is before that and
// which it was, or 0 if the buffer has neither.
func (r *jsonReader) untilQuote() (before []byte, last byte) {
	if r.err != nil || r.pos == r.end && !r.fill() {
		return nil, 0
	}
	rest := r.buf[r.pos:r.end]
	for i, c := range rest {
		if c == '"' || c == '\\' {
			r.pos += i + 1
			return rest[:i], c
		}
	}
	r.pos = r.end
	return rest, 0
}

// word reads a number, true, false or null as it is written; the bytes hold until the next string or word is read.
func (r *jsonReader) word() []byte {
	r.text = r.text[:0]
	r.peek()
	for r.err == nil && (r.pos < r.end || r.fill()) {
		c := r.buf[r.pos]
		if !inWord[c] {
			break
		}
		if r.text = append(r.text, c); len(r.text) > maxNumber {
			r.fail("a number of more than %d digits", maxNumber)
		}
		r.pos++
	}
	return r.text
}

// number reads a number; ok is false for null.
func (r *jsonReader) number() (value float64, ok bool) {
	if r.null() || r.err != nil {
		return 0, false
	}
	word := r.word()
	value, err := strconv.ParseFloat(string(word), 64)
	// ParseFloat takes more than JSON has: infinities, hexadecimal digits and underscores.
	if err != nil || word[0] != '-' && (word[0] < '0' || word[0] > '9') || bytes.ContainsAny(word, "_xXiIpP") {
		r.fail("%q is no number", word)
		return 0, false
	}
	return value, true
}

// close returns what stopped the reader, or an error if anything but white space is left.
func (r *jsonReader) close() error {
	if r.err != nil {
		return r.err
	}
	if c := r.peek(); r.err == nil {
		return fmt.Errorf("%q after the end", c)
	}
	if r.ended {
		return nil
	}
	return r.err
}
