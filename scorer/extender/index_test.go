package extender

import (
	"fmt"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
)

// TestIndex verifies that an index finds the names from which it was built, and no others.
func TestIndex(t *testing.T) {
	for _, size := range []int{0, 1, 2, 3, 100, 5000} {
		names := nodeNames(size)
		x := NewIndex(names)
		for want, name := range names {
			if got := x.Find([]byte(name)); got != cluster.NodeIndex(want) {
				t.Errorf("%d names: %q has index %d, want %d", size, name, got, want)
			}
			if got := x.Find(fmt.Appendf(nil, "%s.", name)); got != -1 {
				t.Errorf("%d names: unknown name has index %d", size, got)
			}
		}
		if got := x.Find(nil); got != -1 {
			t.Errorf("%d names: the empty name has index %d", size, got)
		}
	}
	if got := NewIndex([]string{"a", "b", "a"}).Find([]byte("a")); got != 0 {
		t.Errorf("a repeated name has index %d, want that of the first", got)
	}
}
