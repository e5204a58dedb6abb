package extender

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
)

// maxDepth is the nesting that encoding/json accepts.
const maxDepth = 10000

// scanner walks one JSON text. Each method consumes exactly one syntactic
// element and accepts what encoding/json accepts. After an error the position
// is of no use.
type scanner struct {
	data  []byte
	pos   int
	depth int
}

// token is a string as it stands in the text, quotes included.
type token struct {
	start, end uint32
	// plain says that the bytes between the quotes are the value: printable
	// ASCII without escapes.
	plain bool
}

// next skips white space and returns the byte after it without consuming it.
// At the end it returns 0, which no JSON element begins with.
func (s *scanner) next() byte {
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// unexpected describes the element at the position as not being the wanted one.
func (s *scanner) unexpected(want string) error {
	if s.next() == 0 && s.pos >= len(s.data) {
		return fmt.Errorf("offset %d: the text ends where %s should be", s.pos, want)
	}
	return fmt.Errorf("offset %d: %q where %s should be", s.pos, s.data[s.pos], want)
}

// end checks that nothing but white space follows.
func (s *scanner) end() error {
	if s.next(); s.pos < len(s.data) {
		return s.unexpected("the end")
	}
	return nil
}

// str consumes a string. Almost all are plain and come without white space.
func (s *scanner) str() (token, error) {
	if s.pos >= len(s.data) || s.data[s.pos] != '"' {
		if s.next() != '"' {
			return token{}, s.unexpected("a string")
		}
	}
	end := plainEnd(s.data, s.pos+1)
	if end < len(s.data) && s.data[end] == '"' {
		t := token{start: uint32(s.pos), end: uint32(end + 1), plain: true}
		s.pos = end + 1
		return t, nil
	}
	return s.specialStr(end)
}

// specialStr consumes a string that is plain up to the byte at special.
func (s *scanner) specialStr(special int) (token, error) {
	t := token{start: uint32(s.pos)}
	for s.pos = special; s.pos < len(s.data); s.pos = plainEnd(s.data, s.pos) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			t.end = uint32(s.pos)
			return t, nil
		case c == '\\':
			n := escapeLen(s.data[s.pos:])
			if n == 0 {
				return token{}, s.unexpected("a valid escape sequence")
			}
			s.pos += n
		case c < ' ':
			return token{}, s.unexpected("a printable character")
		default:
			s.pos++
		}
	}
	return token{}, s.unexpected("the end of a string")
}

// plainEnd returns the index of the first byte from i on that is a quote, a
// backslash, a control character or not ASCII.
func plainEnd(data []byte, i int) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(data); i += 8 {
		x := binary.LittleEndian.Uint64(data[i:])
		// A byte's high bit is set where subtracting n borrows, that is where
		// the byte is below n; false hits come only above a true one. With its
		// second bit flipped the quote is next to the control characters.
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

// escapeLen returns the length of the escape sequence data begins with, 0 if
// it is not a valid one.
func escapeLen(data []byte) int {
	if len(data) < 2 {
		return 0
	}
	switch data[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(data) < 6 {
			return 0
		}
		for _, c := range data[2:6] {
			if !isHex(c) {
				return 0
			}
		}
		return 6
	}
	return 0
}

func isHex(c byte) bool {
	return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// text returns the value of a string.
func (s *scanner) text(t token) (string, error) {
	if t.plain {
		return string(s.inner(t)), nil
	}
	var v string
	if err := json.Unmarshal(s.data[t.start:t.end], &v); err != nil {
		return "", fmt.Errorf("offset %d: unquoting a string: %w", t.start, err)
	}
	return v, nil
}

// inner returns the bytes between the quotes, part of the text.
func (s *scanner) inner(t token) []byte { return s.data[t.start+1 : t.end-1] }

// literal consumes true, false or null.
func (s *scanner) literal(word string) error {
	s.next()
	if rest := s.data[s.pos:]; len(rest) < len(word) || string(rest[:len(word)]) != word {
		return s.unexpected(word)
	}
	s.pos += len(word)
	return nil
}

// null consumes a null if there is one.
func (s *scanner) null() (bool, error) {
	if s.next() != 'n' {
		return false, nil
	}
	return true, s.literal("null")
}

// number consumes a number.
func (s *scanner) number() error {
	if s.peek() == '-' {
		s.pos++
	}
	ok := true
	if s.peek() == '0' {
		s.pos++
	} else {
		ok = s.digits()
	}
	if ok && s.peek() == '.' {
		s.pos++
		ok = s.digits()
	}
	if ok && s.peek()|0x20 == 'e' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		ok = s.digits()
	}
	if !ok {
		return s.unexpected("a digit")
	}
	return nil
}

// digits consumes digits and reports whether there were any.
func (s *scanner) digits() bool {
	from := s.pos
	pos := from
	for pos < len(s.data) && isDigit(s.data[pos]) {
		pos++
	}
	s.pos = pos
	return pos > from
}

// peek returns the byte at the position, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}
