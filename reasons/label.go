package reasons

import (
	"maps"
	"slices"
	"strings"
)

// All returns every reason, ordered by name.
func All() []Reason { return slices.Sorted(maps.Keys(sentences)) }

// Label returns the reason as used in metrics, such as "not_leader" for NotLeader.
func (r Reason) Label() string { return Snake(string(r)) }

// Snake converts a name to snake_case. An abbreviation counts as one word.
func Snake(name string) string {
	var out strings.Builder
	for i := range len(name) {
		c := name[i]
		if capital(c) {
			if i > 0 && (!capital(name[i-1]) || i+1 < len(name) && !capital(name[i+1])) {
				out.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		out.WriteByte(c)
	}
	return out.String()
}

func capital(c byte) bool { return 'A' <= c && c <= 'Z' }
