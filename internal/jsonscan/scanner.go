// Package jsonscan reads JSON front to back in one pass and extracts only the requested
// values. It accepts what encoding/json accepts, even in skipped values, and decodes
// strings as encoding/json does.
//
// A Scanner reads a text that is in memory, or one from a reader, of which it keeps only
// a window in memory. Each method consumes one value. The first error stops the Scanner:
// it finds nothing more, every loop ends, and Err returns the error. So do not use values
// before End has returned nil.
package jsonscan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Limits bound the memory that one text can make a Scanner use.
type Limits struct {
	// Text is the maximum number of bytes in a string or number that is not
	// skipped.
	Text int
	// Depth is the maximum nesting depth of brackets.
	Depth int
}

// ofText are the limits of a text in memory: those of encoding/json.
var ofText = Limits{Text: 1 << 31, Depth: 10000}

// OfAnswers are limits for the responses of servers.
var OfAnswers = Limits{Text: 1 << 20, Depth: 64}

// noMark means that no value is being kept.
const noMark = -1

// Scanner walks one JSON text. The zero value has an empty text.
type Scanner struct {
	// data[pos:] is in memory and not yet consumed. passed is the number of bytes before
	// data.
	data        []byte
	pos, passed int
	// mark is the start of the value that fill has to keep, or noMark.
	mark   int
	limits Limits
	// depth is the number of open brackets at pos.
	depth int

	// src provides the text that follows data and is read into buffer; nil after its end.
	// broken is the error with which src ended; nil after a regular end.
	src    io.Reader
	buffer []byte
	broken error

	// scratch holds the last key in case the window has moved on.
	scratch []byte
	err     error
}

// NewReader returns a Scanner for texts from readers, with a window of the given size in
// bytes. Call Reset to start one.
func NewReader(window int, limits Limits) *Scanner {
	return &Scanner{buffer: make([]byte, window), limits: limits}
}

// Reset makes s read the text from src. A window that grew for a long string
// keeps its size.
func (s *Scanner) Reset(src io.Reader) {
	*s = Scanner{src: src, buffer: s.buffer, scratch: s.scratch, limits: s.limits, mark: noMark}
}

// SetText makes s read a text in memory, with the limits of encoding/json. The results of
// Bytes are then valid as long as the text.
func (s *Scanner) SetText(text []byte) {
	*s = Scanner{data: text, scratch: s.scratch, limits: ofText, mark: noMark}
}

// Offset returns how many bytes have been consumed.
func (s *Scanner) Offset() int { return s.passed + s.pos }

// Advance consumes n bytes of a text in memory that the caller has read itself.
func (s *Scanner) Advance(n int) { s.pos = min(s.pos+n, len(s.data)) }

// Err returns the first error.
func (s *Scanner) Err() error { return s.err }

// End checks that nothing but white space follows, and returns the first error.
func (s *Scanner) End() error {
	if s.Next(); s.pos < len(s.data) {
		s.Unexpected("the end")
	} else if s.broken != nil {
		s.Fail(s.broken)
	}
	return s.err
}

// Fail stops the Scanner with an error unless it has already stopped.
func (s *Scanner) Fail(err error) {
	if s.err == nil {
		s.err = err
	}
	s.passed += s.pos
	s.data, s.pos, s.mark, s.src = nil, 0, noMark, nil
}

// Unexpected stops the Scanner because the next element is not the wanted one.
func (s *Scanner) Unexpected(want string) {
	s.Next()
	at := s.Offset()
	switch {
	case s.pos < len(s.data):
		s.Fail(fmt.Errorf("offset %d: %q where %s should be", at, s.data[s.pos], want))
	case s.broken != nil:
		s.Fail(fmt.Errorf("offset %d: the input was cut off: %w", at, s.broken))
	default:
		s.Fail(fmt.Errorf("offset %d: the input ends where %s should be: %w", at, want, io.ErrUnexpectedEOF))
	}
}

// Next skips white space and returns the byte after it without consuming that byte. At
// the end it returns 0, which is not the start of any value.
func (s *Scanner) Next() (c byte) {
	if s.pos < len(s.data) {
		c = s.data[s.pos]
	}
	if c <= ' ' {
		return s.afterSpace()
	}
	return c // kept short so that it can be inlined
}

func (s *Scanner) afterSpace() byte {
	for {
		for ; s.pos < len(s.data); s.pos++ {
			if c := s.data[s.pos]; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
				return c
			}
		}
		if !s.fill() {
			return 0
		}
	}
}

// literal consumes a word. It reports whether the word was found.
func (s *Scanner) literal(word string) bool {
	switch rest := s.hold(len(word)); {
	case bytes.HasPrefix(rest, []byte(word)):
		s.pos += len(word)
		return true
	case bytes.HasPrefix([]byte(word), rest):
		s.pos += len(rest) // the text ends within the word
	}
	s.Unexpected(word)
	return false
}

// hold returns the unconsumed text in memory: at least n bytes, unless the text ends
// earlier.
func (s *Scanner) hold(n int) []byte {
	for len(s.data)-s.pos < n && s.fill() {
		continue
	}
	return s.data[s.pos:]
}

// marked returns what was consumed since the mark, and removes the mark.
func (s *Scanner) marked() []byte {
	if s.mark == noMark {
		return nil // the Scanner has failed
	}
	value := s.data[s.mark:s.pos]
	s.mark = noMark
	if len(value) > s.limits.Text+len(`""`) {
		s.Fail(tooLong(s.Offset()-len(value), s.limits.Text))
	}
	return value
}

func tooLong(offset, limit int) error {
	return fmt.Errorf("offset %d: a string or number of over %d bytes", offset, limit)
}

// fill reads more of the text into memory and keeps what has not been consumed.
// It reports whether there is more.
func (s *Scanner) fill() bool {
	if s.src == nil {
		return false
	}
	from := s.pos
	if s.mark != noMark {
		from, s.mark = s.mark, 0
	}
	if len(s.data)-from > s.limits.Text {
		s.Fail(tooLong(s.passed+from, s.limits.Text))
		return false
	}
	kept := copy(s.buffer, s.data[from:])
	s.passed, s.pos = s.passed+from, s.pos-from
	if kept == len(s.buffer) {
		s.buffer = append(s.buffer, make([]byte, max(kept, 1))...)
	}
	return s.read(kept)
}

// read reads more text and appends it to the bytes kept in the buffer.
func (s *Scanner) read(kept int) bool {
	for range 100 {
		n, err := s.src.Read(s.buffer[kept:])
		s.data = s.buffer[:kept+n]
		if err != nil {
			if s.src = nil; !errors.Is(err, io.EOF) {
				s.broken = err
			}
		}
		if n > 0 || err != nil {
			return n > 0
		}
	}
	s.src, s.broken = nil, io.ErrNoProgress
	return false
}
