package kubelet

import "bytes"

// skip consumes any value.
func (r *jsonReader) skip() {
	switch c := r.peek(); {
	case c == '"':
		r.pos++
		r.skipString()
	case c == '{' || c == '[':
		r.pos++
		r.skipNested()
	case inWord[c]:
		r.word()
	default:
		r.fail("expected a value, got %q", c)
	}
}

// skipNested consumes the rest of an object or array.
func (r *jsonReader) skipNested() {
	for depth := 1; depth > 0; {
		if r.err != nil || r.pos == r.end && !r.fill() {
			return
		}
		var inString bool
		if depth, inString = r.skipBuffered(depth); inString {
			r.skipString()
		}
	}
}

// skipBuffered consumes what is in the buffer, up to the end of the value that is so many brackets deep or the beginning of a
// string that is not plainly over within the buffer, and returns how deep it is then. This is where nine bytes in ten go.
func (r *jsonReader) skipBuffered(depth int) (left int, inString bool) {
	rest := r.buf[r.pos:r.end]
	for i := 0; i < len(rest); i++ {
		if !isBracket[rest[i]] {
			continue
		}
		switch rest[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				r.pos += i + 1
				return 0, false
			}
		case '"':
			n := bytes.IndexByte(rest[i+1:], '"')
			if n < 0 || n > 0 && rest[i+n] == '\\' {
				r.pos += i + 1
				return depth, true
			}
			i += n + 1
		}
	}
	r.pos = r.end
	return depth, false
}

// skipString consumes the rest of a string.
func (r *jsonReader) skipString() {
	for r.err == nil {
		switch _, last := r.untilQuote(); last {
		case '"':
			return
		case '\\':
			r.next()
		}
	}
}

// isBracket holds for what skipping must not overlook, inWord for what numbers and literals are made of.
var (
	isBracket = table(`"{}[]`)
	inWord    = table("+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
)

func table(of string) (t [256]bool) {
	for _, c := range []byte(of) {
		t[c] = true
	}
	return t
}
