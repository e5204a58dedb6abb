package jsonscan

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"time"
)

// Bytes consumes a string and returns its value; nil for a null. The value is valid until
// the next call or, after SetText, as long as the text.
func (s *Scanner) Bytes() []byte {
	if s.pos < len(s.data) && s.data[s.pos] == '"' {
		start := s.pos + 1
		end := PlainEnd(s.data, start)
		if end < len(s.data) && s.data[end] == '"' && end-start <= s.limits.Text {
			s.pos = end + 1
			return s.data[start:end]
		}
	}
	return s.specialBytes()
}

// Text is like Bytes, but returns a copy: "" for a null.
func (s *Scanner) Text() string { return string(s.Bytes()) }

// Time consumes a time in the format of encoding/json. It returns the zero time for a
// null.
func (s *Scanner) Time() (at time.Time) {
	text := s.Bytes()
	if text == nil || s.err != nil {
		return at
	}
	if err := at.UnmarshalText(text); err != nil {
		s.Fail(fmt.Errorf("offset %d: %q is not a time", s.Offset(), text))
	}
	return at
}

// specialBytes is like Bytes, but for a string that is not plain or not completely in
// memory, and for a value that is not a string.
func (s *Scanner) specialBytes() []byte {
	switch s.Next() {
	case '"':
	case 'n':
		s.literal("null")
		return nil
	default:
		s.Unexpected("a string")
		return nil
	}
	s.mark = s.pos
	plain := s.SkipString()
	quoted := s.marked()
	switch {
	case s.err != nil:
		return nil
	case plain:
		return quoted[1 : len(quoted)-1]
	}
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		s.Fail(fmt.Errorf("offset %d: unquoting a string: %w", s.Offset(), err))
	}
	return []byte(text)
}

// SkipString consumes a string that Next has found, and reports whether it was plain:
// printable ASCII without escapes.
func (s *Scanner) SkipString() (plain bool) {
	plain = true
	for s.pos++; ; plain = false {
		s.pos = PlainEnd(s.data, s.pos)
		for s.pos == len(s.data) && s.fill() {
			s.pos = PlainEnd(s.data, s.pos)
		}
		if s.pos == len(s.data) {
			s.Unexpected("the end of a string")
			return false
		}
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return plain
		case c == '\\':
			s.skipEscape()
		case c < ' ':
			s.Unexpected("a printable character")
		default:
			s.pos++
		}
	}
}

// skipEscape consumes an escape sequence.
func (s *Scanner) skipEscape() {
	rest := s.hold(len(`\u0000`))
	switch n := escapeLen(rest); n {
	case cutOff:
		s.pos += len(rest)
		s.Unexpected("the end of an escape sequence")
	case 0:
		s.Unexpected("a valid escape sequence")
	default:
		s.pos += n
	}
}

// cutOff means that the text ends too early.
const cutOff = -1

// escapeLen returns the length of the escape sequence that data begins with; 0 if that
// sequence is invalid.
func escapeLen(data []byte) int {
	if len(data) < 2 {
		return cutOff
	}
	switch data[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(data) < 6 {
			return cutOff
		}
		for _, c := range data[2:6] {
			if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return 6
	}
	return 0
}

// PlainEnd returns the index of the first byte from i that is a quote, a
// backslash, a control character or not ASCII: the end of the part of a string
// that needs no decoding.
func PlainEnd(data []byte, i int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(data); i += 8 {
		x := binary.LittleEndian.Uint64(data[i:])
		// A byte's high bit is set if subtracting n borrows, which means that the byte is below
		// n. False hits occur only above a true one. With its second bit flipped, the quote is
		// adjacent to the control characters.
		low, slash := x^(2*ones), x^('\\'*ones)
		stop := (low-('"'-1)*ones)&^low | (slash-ones)&^slash
		if stop = (stop | x) & high; stop != 0 {
			return i + bits.TrailingZeros64(stop)/8
		}
	}
	for ; i < len(data); i++ {
		if c := data[i]; c == '"' || c == '\\' || c < ' ' || c >= 0x80 {
			return i
		}
	}
	return i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
