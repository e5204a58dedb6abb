package reasons

import "fmt"

// Count formats a number with its noun, plural unless n is 1.
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
