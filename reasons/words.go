package reasons

import (
	"fmt"
	"strings"
)

// Count formats a number with its noun, which is plural unless n is 1.
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Are returns the beginning of a sentence about n things.
func Are(n int, one string) string {
	if n == 1 {
		return "1 " + one + " is"
	}
	return Count(n, one) + " are"
}

// Names joins the first few names and counts the others.
func Names(names []string, few int) string {
	if more := len(names) - few; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), more)
	}
	return strings.Join(names, ", ")
}
