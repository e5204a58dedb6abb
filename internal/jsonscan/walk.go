package jsonscan

// Object yields the keys of an object; none for a null. The loop's body either consumes
// the value or leaves it to be skipped. It must not break.
func (s *Scanner) Object(yield func(key []byte) bool) {
	if !s.enter('{', '}', "an object") {
		return
	}
	for {
		key := s.key()
		before := s.Offset()
		if s.err != nil || !yield(key) {
			return
		}
		if s.Offset() == before {
			s.Skip()
		}
		if !s.more('}') {
			return
		}
	}
}

// Array yields the indices of an array's elements; none for a null. As with Object, the
// loop's body either consumes the element or leaves it.
func (s *Scanner) Array(yield func(i int) bool) {
	if !s.enter('[', ']', "an array") {
		return
	}
	for i := 0; ; i++ {
		before := s.Offset()
		if !yield(i) {
			return
		}
		if s.Offset() == before {
			s.Skip()
		}
		if !s.more(']') {
			return
		}
	}
}

// enter enters an object or array; it consumes an empty one, or a null,
// completely.
func (s *Scanner) enter(begin, end byte, what string) bool {
	switch s.Next() {
	case begin:
		if s.depth++; s.depth > s.limits.Depth {
			s.failDepth()
			return false
		}
		s.pos++
	case 'n':
		s.literal("null")
		return false
	default:
		s.Unexpected(what)
		return false
	}
	if s.Next() == end {
		s.depth--
		s.pos++
		return false
	}
	return true
}

// more consumes what follows a member: a comma, or the closing bracket.
func (s *Scanner) more(end byte) bool {
	switch s.Next() {
	case ',':
		s.pos++
		return true
	case end:
		s.depth--
		s.pos++
	default:
		s.Unexpected("a comma or the closing bracket")
	}
	return false
}

// key consumes a key, its colon and white space. Most keys have no white space,
// and are in memory together with the next byte.
func (s *Scanner) key() []byte {
	if s.pos < len(s.data) && s.data[s.pos] == '"' {
		start := s.pos + 1
		end := PlainEnd(s.data, start)
		if end+2 < len(s.data) && s.data[end] == '"' && s.data[end+1] == ':' && s.data[end+2] > ' ' {
			s.pos = end + 2
			return s.data[start:end]
		}
	}
	return s.specialKey()
}

func (s *Scanner) specialKey() []byte {
	if s.Next() != '"' {
		s.Unexpected("a string")
		return nil
	}
	s.scratch = append(s.scratch[:0], s.Bytes()...)
	if s.Next() != ':' {
		s.Unexpected("a colon")
		return nil
	}
	s.pos++
	s.Next()
	return s.scratch
}

// Bool consumes true or false; a null counts as false.
func (s *Scanner) Bool() bool {
	switch s.Next() {
	case 't':
		return s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.Unexpected("true or false")
	}
	return false
}
