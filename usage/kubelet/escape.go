package kubelet

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// next returns the next byte as it is.
func (r *jsonReader) next() byte {
	if r.err != nil || r.pos == r.end && !r.fill() {
		return 0
	}
	r.pos++
	return r.buf[r.pos-1]
}

// escape appends what follows a backslash to the string.
func (r *jsonReader) escape() {
	switch c := r.next(); c {
	case '"', '\\', '/':
		r.text = append(r.text, c)
	case 'b', 'f', 'n', 'r', 't':
		r.text = append(r.text, "\b\f\n\r\t"[bytes.IndexByte([]byte("bfnrt"), c)])
	case 'u':
		first := r.hex()
		if utf16.IsSurrogate(first) {
			if r.next() != '\\' || r.next() != 'u' {
				r.fail("half a character in a string")
				return
			}
			first = utf16.DecodeRune(first, r.hex())
		}
		r.text = utf8.AppendRune(r.text, first)
	default:
		r.fail("%q after a backslash in a string", c)
	}
}

func (r *jsonReader) hex() rune {
	digits := [4]byte{r.next(), r.next(), r.next(), r.next()}
	n, err := strconv.ParseUint(string(digits[:]), 16, 16)
	if err != nil {
		r.fail("%q is no character", digits)
	}
	return rune(n)
}
