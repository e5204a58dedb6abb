package compat

import "fmt"

// place is the location of a stream of documents in a file: the manifest entry that
// contains it; empty for the file itself.
type place string

// of names a line of the stream in messages.
func (p place) of(line int) string {
	if p == "" {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("%s, line %d", p, line)
}

// problem formats a message about the stream.
func (p place) problem(text string) string {
	if p == "" {
		return text
	}
	return string(p) + ": " + text
}
