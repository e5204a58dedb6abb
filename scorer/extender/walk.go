package extender

import (
	"bytes"
	"errors"
	"fmt"
)

// errRepeated is a key that occurs twice in an object the extender reads. What
// encoding/json makes of that depends on the order and on stale values.
var errRepeated = errors.New("key occurs twice")

// object consumes an object and calls member with each key; member consumes
// the value. A null has no members.
func (s *scanner) object(member func(key []byte) error) error {
	if isNull, err := s.null(); isNull || err != nil {
		return err
	}
	empty, err := s.open('{', '}', "an object")
	if empty || err != nil {
		return err
	}
	for {
		key, err := s.key()
		if err != nil {
			return err
		}
		name := s.inner(key)
		if !key.plain {
			text, err := s.text(key)
			if err != nil {
				return err
			}
			name = []byte(text)
		}
		if err := member(name); err != nil {
			return err
		}
		if more, err := s.more('}'); !more {
			return err
		}
	}
}

// array consumes an array and calls elem with each index; elem consumes the
// value. A null has no elements.
func (s *scanner) array(elem func(i int) error) error {
	if isNull, err := s.null(); isNull || err != nil {
		return err
	}
	empty, err := s.open('[', ']', "an array")
	if empty || err != nil {
		return err
	}
	for i := 0; ; i++ {
		if err := elem(i); err != nil {
			return err
		}
		if more, err := s.more(']'); !more {
			return err
		}
	}
}

// skip consumes any value.
func (s *scanner) skip() error {
	switch c := s.next(); c {
	case '"':
		_, err := s.str()
		return err
	case '{':
		return s.skipObject()
	case '[':
		return s.skipArray()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		if c == '-' || isDigit(c) {
			return s.number()
		}
		return s.unexpected("a value")
	}
}

func (s *scanner) skipArray() error {
	empty, err := s.open('[', ']', "an array")
	if empty || err != nil {
		return err
	}
	for {
		if err := s.skip(); err != nil {
			return err
		}
		if more, err := s.more(']'); !more {
			return err
		}
	}
}

// open enters an object or array; an empty one is consumed as a whole.
func (s *scanner) open(begin, end byte, what string) (empty bool, err error) {
	if s.next() != begin {
		return false, s.unexpected(what)
	}
	if s.depth++; s.depth > maxDepth {
		return false, fmt.Errorf("offset %d: nested deeper than %d", s.pos, maxDepth)
	}
	s.pos++
	if s.next() == end {
		s.pos++
		s.depth--
		return true, nil
	}
	return false, nil
}

// more consumes what follows a member: a comma, or the end of its container.
func (s *scanner) more(end byte) (bool, error) {
	if s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ',':
			s.pos++
			return true, nil
		case end:
			s.pos++
			s.depth--
			return false, nil
		}
	}
	switch s.next() {
	case ',':
		s.pos++
		return true, nil
	case end:
		s.pos++
		s.depth--
		return false, nil
	}
	return false, s.unexpected("a comma or the closing bracket")
}

// key consumes a key and its colon.
func (s *scanner) key() (token, error) {
	t, err := s.str()
	if err != nil {
		return token{}, err
	}
	if s.next() != ':' {
		return token{}, s.unexpected("a colon")
	}
	s.pos++
	return t, nil
}

// fieldSet matches the keys of one object with the fields the extender reads.
type fieldSet struct {
	names []string
	seen  uint32
}

// match returns the index of the field that key stands for, as encoding/json
// matches (upper and lower case alike), or -1.
func (f *fieldSet) match(key []byte) (int, error) {
	for i, name := range f.names {
		if string(key) != name && !foldEqual(key, name) {
			continue
		}
		if f.seen&(1<<i) != 0 {
			return -1, fmt.Errorf("%q: %w", name, errRepeated)
		}
		f.seen |= 1 << i
		return i, nil
	}
	return -1, nil
}

// foldEqual compares without regard to case. Most keys differ in the first
// letter, so that is looked at before the Unicode rules.
func foldEqual(key []byte, name string) bool {
	if len(key) == 0 || key[0] < 0x80 && key[0]|0x20 != name[0]|0x20 {
		return false
	}
	return bytes.EqualFold(key, []byte(name))
}
