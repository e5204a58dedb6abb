package arch

import (
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// arrows returns for each file of a package the other files that it uses. A
// file uses another one when it names something declared there: a constant, a
// variable, a function, a type, a method or a field.
func (c *checked) arrows() map[string][]string {
	uses := map[string]map[string]bool{}
	for _, file := range c.files {
		uses[c.file(file.Pos())] = map[string]bool{}
	}
	for ident, object := range c.info.Uses {
		if object.Pkg() != c.types {
			continue
		}
		// What is local to a function is declared in the same file.
		if from, to := c.file(ident.Pos()), c.file(object.Pos()); from != to {
			uses[from][to] = true
		}
	}
	sorted := map[string][]string{}
	for from, to := range uses {
		sorted[from] = slices.Sorted(maps.Keys(to))
	}
	return sorted
}

// file returns the name of the file that a position is in.
func (c *checked) file(pos token.Pos) string { return filepath.Base(c.fset.Position(pos).Filename) }

// cycles returns the groups of files that use each other, directly or by way of
// others, each in order of names.
func cycles(arrows map[string][]string) [][]string {
	reach := map[string]map[string]bool{}
	for from := range arrows {
		reach[from] = map[string]bool{}
		walk(arrows, from, reach[from])
	}
	var found [][]string
	seen := map[string]bool{}
	for _, from := range slices.Sorted(maps.Keys(arrows)) {
		var group []string
		for _, to := range slices.Sorted(maps.Keys(reach[from])) {
			if !seen[to] && reach[to][from] {
				group = append(group, to)
				seen[to] = true
			}
		}
		if len(group) > 0 {
			found = append(found, group)
		}
	}
	return found
}

// walk notes everything that can be reached from a file.
func walk(arrows map[string][]string, from string, reached map[string]bool) {
	for _, to := range arrows[from] {
		if !reached[to] {
			reached[to] = true
			walk(arrows, to, reached)
		}
	}
}

func TestCyclesFindsFilesThatUseEachOther(t *testing.T) {
	cases := map[string]struct {
		arrows map[string][]string
		want   [][]string
	}{
		"one way is no cycle":      {arrows: map[string][]string{"a": {"b", "c"}, "b": {"c"}, "c": nil}},
		"two files":                {arrows: map[string][]string{"a": {"b"}, "b": {"a"}, "c": {"a"}}, want: [][]string{{"a", "b"}}},
		"by way of others":         {arrows: map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": nil}, want: [][]string{{"a", "b", "c"}}},
		"two cycles with a bridge": {arrows: map[string][]string{"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"c"}}, want: [][]string{{"a", "b"}, {"c", "d"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, cycles(tc.arrows)); diff != "" {
				t.Errorf("cycles (-want +got):\n%s", diff)
			}
		})
	}
}
