package reasons

import (
	"maps"
	"slices"
	"strings"
)

// All returns every reason, in order of their names.
func All() []Reason { return slices.Sorted(maps.Keys(sentences)) }

// Label returns the reason as metrics write it: "not_leader" for NotLeader.
func (r Reason) Label() string { return Snake(string(r)) }

// Snake returns a name in snake_case. An abbreviation is one word.
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
