package jsonscan

import "fmt"

// nesting is a stack of the open brackets in a skipped value; most is its maximum size.
// Each bracket is a bit, which is set for an object; the lowest bit is the innermost
// bracket.
type nesting struct {
	objects    uint64
	open, most int
}

// levels is the maximum number of brackets in a nesting.
const levels = 64

func (n *nesting) push(bracket byte) {
	n.objects <<= 1
	if bracket == '{' {
		n.objects |= 1
	}
	n.open++
}

func (n *nesting) pop() {
	n.objects >>= 1
	n.open--
}

func (n *nesting) inObject() bool { return n.objects&1 != 0 }

// end returns the bracket that closes the innermost one.
func (n *nesting) end() byte {
	if n.inObject() {
		return '}'
	}
	return ']'
}

// Skip consumes any value.
func (s *Scanner) Skip() {
	switch c := s.Next(); c {
	case '{', '[':
		s.skipNested(s.limits.Depth - s.depth)
	default:
		s.skipScalar(c)
	}
}

// skipScalar consumes a value that begins with c and has no brackets.
func (s *Scanner) skipScalar(c byte) {
	switch {
	case c == '"':
		s.SkipString()
	case c == '-' || isDigit(c):
		s.skipNumber()
	case c == 't':
		s.literal("true")
	case c == 'f':
		s.literal("false")
	case c == 'n':
		s.literal("null")
	default:
		s.Unexpected("a value")
	}
}

// skipNested consumes an object or array whose nesting is at most depth: the first levels
// in this loop, deeper ones by recursion.
func (s *Scanner) skipNested(depth int) {
	n := nesting{most: min(depth, levels)}
	for {
		if s.skipPlain(&n) {
			switch c := s.Next(); {
			case c != '{' && c != '[':
				s.skipScalar(c)
			case n.open == depth:
				s.failDepth()
			case n.open == levels:
				s.skipNested(depth - levels)
			default:
				s.pos++
				n.push(c)
				if s.Next() != c+2 { // the matching closing bracket, in ASCII
					continue
				}
			}
		}
		if !s.skipMore(&n) {
			return
		}
	}
}

func (s *Scanner) failDepth() {
	s.Fail(fmt.Errorf("offset %d: nested deeper than %d", s.Offset(), s.limits.Depth))
}

// skipMore consumes what follows a value: closing brackets and a comma. It
// reports whether there was a comma.
func (s *Scanner) skipMore(n *nesting) bool {
	for n.open > 0 {
		switch s.Next() {
		case ',':
			s.pos++
			return true
		case n.end():
			s.pos++
			n.pop()
		default:
			s.Unexpected("a comma or the closing bracket")
			return false
		}
	}
	return false
}

// skipPlain consumes plain members, and the key of the first member whose value is not
// plain. It reports whether a value follows; none follows the last member.
func (s *Scanner) skipPlain(n *nesting) bool {
	if n.open == 0 {
		return true
	}
	var at place
	s.pos, at = n.plain(s.data, s.pos)
	if at == atKey {
		s.skipKey()
	}
	return at != afterValue
}

func (s *Scanner) skipKey() {
	if s.Next() != '"' {
		s.Unexpected("a string")
		return
	}
	s.SkipString()
	if s.Next() != ':' {
		s.Unexpected("a colon")
		return
	}
	s.pos++
}

// place is the scanner's position in an object or array.
type place uint8

const (
	atKey place = iota
	atValue
	afterValue
)

// plain consumes members and elements as long as keys and strings are plain, numbers have
// no exponent, and there is no white space; this covers most of a Kubernetes object. It
// returns the position that it has reached and what is there: a key or value that is not
// plain, or what follows a value.
func (n *nesting) plain(data []byte, pos int) (int, place) {
	for pos < len(data) {
		value := pos
		if n.inObject() {
			value = PlainEnd(data, pos+1) + 2
			if value >= len(data) || data[pos] != '"' || data[value-2] != '"' || data[value-1] != ':' {
				return pos, atKey
			}
		}
		if data[value]|0x20 == '{' { // or '['
			if !n.entered(data, value) {
				return value, atValue
			}
			pos = value + 1
			continue
		}
		end := plainScalar(data, value)
		if end >= len(data) {
			return value, atValue
		}
		if data[end] != ',' {
			end = n.left(data, end)
			if end == len(data) || data[end] != ',' || n.open == 0 {
				return end, afterValue
			}
		}
		pos = end + 1
	}
	if n.inObject() {
		return pos, atKey
	}
	return pos, atValue
}

// entered enters a value that is an object or array if its first member begins
// with a quote or a brace and there is no white space.
func (n *nesting) entered(data []byte, value int) bool {
	if value+1 >= len(data) || n.open >= n.most {
		return false
	}
	switch c, next := data[value], data[value+1]; {
	case c == '{' && next == '"', c == '[' && (next == '"' || next == '{'):
		n.push(c)
		return true
	}
	return false
}

// left leaves the objects and arrays that end at a position, and returns where
// the last one ends.
func (n *nesting) left(data []byte, end int) int {
	for end < len(data) && n.open > 0 && data[end] == n.end() {
		n.pop()
		end++
	}
	return end
}

// plainScalar returns the end of a plain string, a plain number or null, or len(data) if
// there is none.
func plainScalar(data []byte, pos int) int {
	switch data[pos] {
	case '"':
		if end := PlainEnd(data, pos+1); end < len(data) && data[end] == '"' {
			return end + 1
		}
		return len(data)
	case 'n':
		if end := pos + len("null"); end < len(data) && string(data[pos:end]) == "null" {
			return end
		}
		return len(data)
	}
	return plainNumber(data, pos)
}
