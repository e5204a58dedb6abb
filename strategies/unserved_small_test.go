package strategies

import "testing"

// A small agent that requests almost nothing and gets what it demands is no measure of what other
// pods get.
func TestASmallRequestHidesNoDemand(t *testing.T) {
	starved := func() []Pod {
		return []Pod{short(2000, 1000, 0, 3500), short(2000, 1000, 0, 3500), short(2000, 1000, 0, 3500)}
	}
	if sum := EstimateUnserved(starved()); sum != 4500 {
		t.Fatalf("without the agent %d are wanted", sum)
	}
	for name, agent := range map[string]Pod{
		"requests 1m, which the kernel takes for 2m, uses 3m": short(3, 1, 0, 3),
		"requests 10m, uses 30m as always":                    short(30, 10, 0, 30),
	} {
		t.Run(name, func(t *testing.T) {
			if sum := EstimateUnserved(append(starved(), agent)); sum != 4500 {
				t.Errorf("with an agent of a few milli-cores %d are wanted instead of 4500", sum)
			}
		})
	}
}
