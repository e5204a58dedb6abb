package jsonscan

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
)

// maxDigits bounds the numbers that Float reads.
const maxDigits = 64

// Float consumes a number and returns it; ok is false for a null.
func (s *Scanner) Float() (value float64, ok bool) {
	digits := s.Number()
	if digits == nil {
		return 0, false
	}
	value, err := strconv.ParseFloat(string(digits), 64)
	if len(digits) > maxDigits {
		err = fmt.Errorf("more than %d digits", maxDigits)
	}
	if err != nil {
		s.Fail(fmt.Errorf("offset %d: %.40q is not a number: %w", s.Offset(), digits, err))
	}
	return value, err == nil
}

// Number consumes a number and returns its text; nil for a null. The text is valid until
// the next call.
func (s *Scanner) Number() []byte {
	switch c := s.Next(); {
	case c == 'n':
		s.literal("null")
		return nil
	case c != '-' && !isDigit(c):
		s.Unexpected("a number")
		return nil
	}
	s.mark = s.pos
	s.skipNumber()
	return s.marked()
}

// skipNumber consumes a number.
func (s *Scanner) skipNumber() {
	if end := plainNumber(s.data, s.pos); end < len(s.data) {
		s.pos = end
		return
	}
	ok := true
	if s.skipOne('-'); !s.skipOne('0') {
		ok = s.skipDigits()
	}
	if ok && s.skipOne('.') {
		ok = s.skipDigits()
	}
	if ok && (s.skipOne('e') || s.skipOne('E')) {
		if !s.skipOne('+') {
			s.skipOne('-')
		}
		ok = s.skipDigits()
	}
	if !ok {
		s.Unexpected("a digit")
	}
}

// skipOne consumes the next byte if it is c. It reports whether it did.
func (s *Scanner) skipOne(c byte) bool {
	if rest := s.hold(1); len(rest) == 0 || rest[0] != c {
		return false
	}
	s.pos++
	return true
}

// skipDigits consumes digits and reports whether there were any.
func (s *Scanner) skipDigits() bool {
	from := s.Offset()
	for len(s.hold(1)) > 0 {
		end := digitsEnd(s.data, s.pos)
		if s.pos = end; end < len(s.data) {
			break
		}
	}
	return s.Offset() > from
}

// plainNumber returns the end of a number without sign and exponent, or len(data) if
// there is none.
func plainNumber(data []byte, pos int) int {
	end := digitsEnd(data, pos)
	if end == pos || data[pos] == '0' && end > pos+1 {
		return len(data)
	}
	if end < len(data) && data[end] == '.' {
		fraction := end + 1
		if end = digitsEnd(data, fraction); end == fraction {
			return len(data)
		}
	}
	if end < len(data) && data[end]|0x20 == 'e' {
		return len(data)
	}
	return end
}

// digitsEnd returns the index of the first non-digit byte from i.
func digitsEnd(data []byte, i int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(data); i += 8 {
		x := binary.LittleEndian.Uint64(data[i:])
		// As in PlainEnd. The addition carries into the high bit for bytes above '9'.
		if stop := (x | (x - '0'*ones) | (x + (0x7f-'9')*ones)) & high; stop != 0 {
			return i + bits.TrailingZeros64(stop)/8
		}
	}
	for i < len(data) && isDigit(data[i]) {
		i++
	}
	return i
}
