package cluster

import "testing"

func TestCPULimits(t *testing.T) {
	limits := CPULimits("").With("", 3000).With("main", 1500).With("unlimited", 0).With("sidecar", 250).With("odd", -1)
	for name, want := range map[string]int64{"": 3000, "main": 1500, "sidecar": 250, "unlimited": 0, "odd": 0, "mai": 0, "main ": 0, "1500": 0} {
		if got := limits.Of([]byte(name)); got != want {
			t.Errorf("the limit of %q is %d, want %d", name, got, want)
		}
		if got := CPULimits("").Of([]byte(name)); got != 0 {
			t.Errorf("without limits that of %q is %d", name, got)
		}
	}
	if same := CPULimits("").With("", 3000).With("main", 1500).With("sidecar", 250); same != limits {
		t.Errorf("equal limits differ: %q and %q", same, limits)
	}
}
