package reasons

import (
	"fmt"
	"strings"
)

// Count formats a number with its noun, plural unless n is 1.
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Are starts a sentence about n things.
func Are(n int, one string) string {
	if n == 1 {
		return "1 " + one + " is"
	}
	return Count(n, one) + " are"
}

// Names joins names, and counts those after the first few.
func Names(names []string, few int) string {
	if more := len(names) - few; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), more)
	}
	return strings.Join(names, ", ")
}
