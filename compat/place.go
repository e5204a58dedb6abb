package compat

import "fmt"

// place is where in a file a stream of documents is: the entry of a manifest
// that holds it; empty for the file itself.
type place string

// of names a line of the stream.
func (p place) of(line int) string {
	if p == "" {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("%s, line %d", p, line)
}

// problem names a mistake in the stream.
func (p place) problem(text string) string {
	if p == "" {
		return text
	}
	return string(p) + ": " + text
}
