package reasons

import "testing"

func TestNames(t *testing.T) {
	for want, names := range map[string][]string{"": nil, "a, b": {"a", "b"}, "a, b and 2 more": {"a", "b", "c", "d"}} {
		if got := Names(names, 2); got != want {
			t.Errorf("%q is %q, want %q", names, got, want)
		}
	}
}
