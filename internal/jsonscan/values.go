package jsonscan

import "bytes"

// Values returns an upper bound on the number of values in a valid text: its commas and
// opening brackets, plus one. It allocates no memory, so a caller can use it to reject a
// text before decoding it: three bytes of text can become a hundred bytes in a struct.
func Values(text []byte) int {
	n := 1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[', ',':
			n++
		case '"':
			i = stringEnd(text, i+1)
		}
	}
	return n
}

// stringEnd returns the index of the quote that ends the string whose content
// begins at i.
func stringEnd(text []byte, i int) int {
	for i < len(text) {
		next := bytes.IndexAny(text[i:], `"\`)
		if next < 0 {
			return len(text)
		}
		if i += next; text[i] == '"' {
			return i
		}
		i += len(`\"`)
	}
	return i
}
