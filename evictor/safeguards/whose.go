package safeguards

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Whose identifies the owner of an event. The pods of a namespace that have no
// owner count as one owner.
type Whose struct{ Namespace, OwnerUID string }

// minParties is the number of owners, and of namespaces, that must be in trouble before
// the trouble stops everyone. Anyone who can edit one or two namespaces can create any
// number of owners and pods there.
const minParties = 3

// trouble counts problems by owner. Only this type decides whether trouble is one
// tenant's or everyone's.
type trouble struct {
	of      map[Whose]int
	count   int
	example string
}

func (t *trouble) add(of Whose, example string) {
	if t.of == nil {
		t.of = map[Whose]int{}
	}
	t.of[of]++
	t.count++
	t.example = cmp.Or(t.example, example)
}

func (t *trouble) namespaces() map[string]int {
	all := map[string]int{}
	for of, n := range t.of {
		all[of.Namespace] += n
	}
	return all
}

// exceeds reports whether there are more problems than limit, regardless of the owners.
func (t *trouble) exceeds(limit int) bool { return t.count > limit }

// everybodys reports whether the trouble is everyone's. It must affect at least
// minParties owners in at least minParties namespaces and exceed limit, where each owner
// and each namespace counts for at most a third of limit, plus one.
func (t *trouble) everybodys(limit int) bool {
	most, namespaces, n := limit/minParties+1, map[string]int{}, 0
	for of, its := range t.of {
		namespaces[of.Namespace] += min(its, most)
	}
	for _, its := range namespaces {
		n += min(its, most)
	}
	return len(t.of) >= minParties && len(namespaces) >= minParties && n > limit
}

// whose describes the owners, for example: of 5 owners in 4 namespaces, most in
// "shop".
func (t *trouble) whose() string {
	namespaces := t.namespaces()
	if len(namespaces) == 0 {
		return "of nobody"
	}
	most := slices.MaxFunc(slices.Sorted(maps.Keys(namespaces)), func(a, b string) int { return cmp.Compare(namespaces[a], namespaces[b]) })
	return fmt.Sprintf("of %d owners in %d namespaces, most in %q", len(t.of), len(namespaces), most)
}
