package prometheus

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// bufferBytes is how much of a body is held at a time.
	bufferBytes = 64 << 10
	// maxTextBytes bounds one text, and all labels of one series.
	maxTextBytes = 1 << 20
	// maxDepth bounds how deep values that are skipped may be nested.
	maxDepth = 64
)

// scanner reads JSON front to back without holding it. encoding/json takes ten times as long for the same (see the
// benchmarks): it makes a map of each series' labels.
type scanner struct {
	reader   io.Reader
	buffer   []byte
	pos, end int
	// passed is how many bytes lie before the buffer.
	passed int64
	err    error
	// key and scratch are room for what is looked at once.
	key, scratch []byte
}

func newScanner(reader io.Reader) scanner {
	return scanner{reader: reader, buffer: make([]byte, bufferBytes)}
}

// fill reads on once the buffer is used up.
func (s *scanner) fill() error {
	s.passed += int64(s.end)
	s.pos, s.end = 0, 0
	for range 100 {
		if s.err != nil {
			return s.err
		}
		if s.end, s.err = s.reader.Read(s.buffer); s.end > 0 {
			return nil
		}
	}
	return io.ErrNoProgress
}

// cut returns an error for a body that ends, or breaks, where more is due.
func (s *scanner) cut(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("the answer breaks off at byte %d: %w", s.passed+int64(s.pos), err)
}

func (s *scanner) unexpected(c byte, want string) error {
	return fmt.Errorf("byte %d of the answer is %q where %s is due", s.passed+int64(s.pos), c, want)
}

// raw returns the next byte and leaves it where it is.
func (s *scanner) raw() (byte, error) {
	if s.pos == s.end {
		if err := s.fill(); err != nil {
			return 0, s.cut(err)
		}
	}
	return s.buffer[s.pos], nil
}

// peek is raw without white space before it.
func (s *scanner) peek() (byte, error) {
	for {
		c, err := s.raw()
		if err != nil || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c, err
		}
		s.pos++
	}
}

func (s *scanner) expect(want byte) error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	if c != want {
		return s.unexpected(c, string(want))
	}
	s.pos++
	return nil
}

// ended makes sure that nothing follows.
func (s *scanner) ended() error {
	for {
		for ; s.pos < s.end; s.pos++ {
			if c := s.buffer[s.pos]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
				return s.unexpected(c, "the end")
			}
		}
		switch err := s.fill(); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return s.cut(err)
		}
	}
}

// members goes through an object or array up to its end, member by member.
func (s *scanner) members(open, end byte, member func() error) error {
	if err := s.expect(open); err != nil {
		return err
	}
	c, err := s.peek()
	if err != nil {
		return err
	}
	if c == end {
		s.pos++
		return nil
	}
	for {
		if err := member(); err != nil {
			return err
		}
		if c, err = s.peek(); err != nil {
			return err
		}
		switch c {
		case end:
			s.pos++
			return nil
		case ',':
			s.pos++
		default:
			return s.unexpected(c, "a comma or "+string(end))
		}
	}
}

// readKey reads the key of an object's member into s.key.
func (s *scanner) readKey() (err error) {
	if s.key, err = s.text(s.key[:0]); err != nil {
		return err
	}
	return s.expect(':')
}

// text appends a string to dst.
func (s *scanner) text(dst []byte) ([]byte, error) {
	if err := s.expect('"'); err != nil {
		return dst, err
	}
	for {
		if _, err := s.raw(); err != nil {
			return dst, err
		}
		rest := s.buffer[s.pos:s.end]
		n := plain(rest)
		dst = append(dst, rest[:n]...)
		s.pos += n
		if len(dst) > maxTextBytes {
			return dst, fmt.Errorf("the answer has a text of over %d bytes", maxTextBytes)
		}
		if n == len(rest) {
			continue
		}
		switch c := rest[n]; c {
		case '"':
			s.pos++
			return dst, nil
		case '\\':
			s.pos++
			var err error
			if dst, err = s.escaped(dst); err != nil {
				return dst, err
			}
		default:
			return dst, s.unexpected(c, "a character of a text")
		}
	}
}

// plain returns how many bytes of a text stand for themselves.
func plain(text []byte) int {
	for i, c := range text {
		if c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return len(text)
}

// escaped appends what the characters after a backslash stand for.
func (s *scanner) escaped(dst []byte) ([]byte, error) {
	c, err := s.raw()
	if err != nil {
		return dst, err
	}
	switch c {
	case '"', '\\', '/':
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	case 'u':
		return s.unicode(dst)
	default:
		return dst, s.unexpected(c, "an escape")
	}
	s.pos++
	return append(dst, c), nil
}

// unicode appends the character of an escape that begins with u; halves of pairs that stand alone become U+FFFD.
func (s *scanner) unicode(dst []byte) ([]byte, error) {
	first, err := s.hex()
	if err != nil || !utf16.IsSurrogate(first) {
		return utf8.AppendRune(dst, first), err
	}
	if c, err := s.raw(); err != nil || c != '\\' {
		return utf8.AppendRune(dst, utf8.RuneError), err
	}
	s.pos++
	if c, err := s.raw(); err != nil || c != 'u' {
		if err != nil {
			return dst, err
		}
		return s.escaped(utf8.AppendRune(dst, utf8.RuneError))
	}
	second, err := s.hex()
	if pair := utf16.DecodeRune(first, second); pair != utf8.RuneError || err != nil {
		return utf8.AppendRune(dst, pair), err
	}
	dst = utf8.AppendRune(dst, utf8.RuneError)
	if utf16.IsSurrogate(second) {
		second = utf8.RuneError
	}
	return utf8.AppendRune(dst, second), nil
}

// hex reads the u of an escape and its four digits.
func (s *scanner) hex() (rune, error) {
	s.pos++
	var r rune
	for range 4 {
		c, err := s.raw()
		if err != nil {
			return 0, err
		}
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, s.unexpected(c, "a hexadecimal digit")
		}
		r = r<<4 | rune(c)
		s.pos++
	}
	return r, nil
}

// word reads a number or a literal into s.scratch.
func (s *scanner) word() ([]byte, error) {
	s.scratch = s.scratch[:0]
	c, err := s.peek()
	for err == nil && inWord(c) && len(s.scratch) < maxTextBytes {
		rest := s.buffer[s.pos:s.end]
		n := 1
		for n < len(rest) && inWord(rest[n]) {
			n++
		}
		s.scratch = append(s.scratch, rest[:n]...)
		s.pos += n
		c, err = s.raw()
	}
	if err == nil && len(s.scratch) == 0 {
		err = s.unexpected(c, "a value")
	}
	return s.scratch, err
}

func inWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// skip passes over any value.
func (s *scanner) skip(depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("the answer is nested more than %d deep", maxDepth)
	}
	c, err := s.peek()
	if err != nil {
		return err
	}
	switch c {
	case '{':
		return s.members('{', '}', func() error {
			if err := s.readKey(); err != nil {
				return err
			}
			return s.skip(depth + 1)
		})
	case '[':
		return s.members('[', ']', func() error { return s.skip(depth + 1) })
	case '"':
		s.scratch, err = s.text(s.scratch[:0])
		return err
	}
	_, err = s.word()
	return err
}
