package jsonscan

import "fmt"

// nesting are the brackets that are open in a value that is skipped, at most so
// many: a bit for each, the innermost lowest, which is set for an object.
type nesting struct {
	objects    uint64
	open, most int
}

// levels is how many brackets a nesting holds.
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

// Skip consumes any value.
func (s *Scanner) Skip() { s.skip(s.limits.Depth) }

// skip consumes a value that is nested no deeper than depth.
func (s *Scanner) skip(depth int) {
	switch c := s.Next(); c {
	case '{', '[':
		s.skipNested(depth)
	default:
		s.skipScalar(c)
	}
}

// skipScalar consumes a value that begins with c and has no brackets.
func (s *Scanner) skipScalar(c byte) {
	switch {
	case c == '"':
		s.skipString()
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

// skipNested consumes an object or array: so many levels of it in this loop,
// and what is deeper by recursion.
func (s *Scanner) skipNested(depth int) {
	n := nesting{most: min(depth, levels)}
	for {
		if s.skipMembers(&n) {
			switch c := s.Next(); {
			case c != '{' && c != '[':
				s.skipScalar(c)
			case n.open == depth:
				s.Fail(fmt.Errorf("offset %d: nested deeper than %d", s.Offset(), s.limits.Depth))
			case n.open == levels:
				s.skipNested(depth - levels)
			default:
				s.pos++
				n.push(c)
				if s.Next() != c+2 { // the closing bracket, in ASCII
					continue
				}
			}
		}
		if !s.skipMore(&n) {
			return
		}
	}
}

// skipMore consumes what follows a value: closing brackets, and a comma. It
// reports whether there was one.
func (s *Scanner) skipMore(n *nesting) bool {
	for n.open > 0 {
		end := byte(']')
		if n.inObject() {
			end = '}'
		}
		switch s.Next() {
		case ',':
			s.pos++
			return true
		case end:
			s.pos++
			n.pop()
		default:
			s.Unexpected("a comma or the closing bracket")
			return false
		}
	}
	return false
}

// skipMembers consumes what comes before a value: in an object a key, and the
// plain members before it. It reports whether a value is due; after the last
// member there is none.
func (s *Scanner) skipMembers(n *nesting) bool {
	if !n.inObject() {
		return true
	}
	var at place
	s.pos, at = plainMembers(s.data, s.pos, n)
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
	s.skipString()
	if s.Next() != ':' {
		s.Unexpected("a colon")
		return
	}
	s.pos++
}

// place is where in an object the scanner stands.
type place uint8

const (
	atKey place = iota
	atValue
	afterValue
)

// plainMembers consumes members as long as keys are plain, values are objects
// with members, plain strings or plain numbers, and there is no white space,
// which most of a Kubernetes object is made of. It returns the position it got
// to and what is to be found there: a member that is of another kind, the value
// of one, or what follows a value.
func plainMembers(data []byte, pos int, n *nesting) (int, place) {
	for pos < len(data) && data[pos] == '"' {
		value := plainEnd(data, pos+1) + 2
		if value >= len(data) || data[value-2] != '"' || data[value-1] != ':' {
			break
		}
		if n.entered(data, value) {
			pos = value + 1
			continue
		}
		end := plainScalar(data, value)
		if end >= len(data) {
			return value, atValue
		}
		end = n.left(data, end)
		if end == len(data) || data[end] != ',' || !n.inObject() {
			return end, afterValue
		}
		pos = end + 1
	}
	return pos, atKey
}

// entered goes into the object that a value is, if it has members and stands
// without white space.
func (n *nesting) entered(data []byte, value int) bool {
	if data[value] != '{' || n.open >= n.most || value+1 >= len(data) || data[value+1] != '"' {
		return false
	}
	n.push('{')
	return true
}

// left leaves the objects that end at a position, and returns where the last did.
func (n *nesting) left(data []byte, end int) int {
	for end < len(data) && data[end] == '}' && n.inObject() {
		n.pop()
		end++
	}
	return end
}

// plainScalar returns the end of a plain string or number, or that of data if
// there is none.
func plainScalar(data []byte, pos int) int {
	if data[pos] != '"' {
		return plainNumber(data, pos)
	}
	if end := plainEnd(data, pos+1); end < len(data) && data[end] == '"' {
		return end + 1
	}
	return len(data)
}
