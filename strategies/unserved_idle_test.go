package strategies

import "testing"

// The kernel gives a pod without a request the share of a pod that requests two milli-cores. A pod
// that uses less than that is idle, whatever it used hours ago.
func TestIdlePodsWithoutARequestWantNothing(t *testing.T) {
	for used, want := range map[int64]int64{0: 0, 3: 0, 4: 7996} {
		pods := []Pod{short(1000, 500, 0, 0), short(used, 0, 0, 8000)}
		if sum := EstimateUnserved(pods); sum != want {
			t.Errorf("one that uses %d where it could use 4 is estimated to want %d more, want %d", used, sum, want)
		}
	}
}
