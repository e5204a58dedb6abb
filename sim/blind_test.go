package sim

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evenkeel/evenkeel/sim/trace"
)

// blindly plays generated usage, as seen by a source that misses some of it.
func blindly(t *testing.T, blind Blind) Result {
	t.Helper()
	cpu, _, err := trace.Generate(trace.DefaultRecipe())
	if err != nil {
		t.Fatal(err)
	}
	shape := DefaultShape()
	shape.Nodes, shape.Pods = 20, 400
	fleet, err := NewFleet(shape, cpu, nil)
	if err != nil {
		t.Fatal(err)
	}
	results, err := Run(t.Context(), Config{
		Fleet: fleet, Steps: 72, WarmUp: DefaultWarmUp, Every: DefaultEvery, Lag: DefaultLag, Gap: DefaultGap, Blind: blind,
		HotLinePercent: DefaultHotLine, ExtenderWeight: DefaultExtenderWeight, MaxUnavailablePercent: DefaultMaxUnavailable, Seed: 1,
		Variants: []Variant{{Name: "evenkeel", Policy: shipped(t), Evicts: true, Steers: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}

// A replay shows the effect of what a source misses. If some usage is missing, moves are fewer or
// worse. If all of it is missing, there are none. The result is reproducible.
func TestReplaysOfBlindSources(t *testing.T) {
	all := blindly(t, Blind{})
	if all.Evictions == 0 {
		t.Fatal("nothing is evicted where everything is seen")
	}
	for name, tc := range map[string]struct {
		blind Blind
		moves bool
	}{
		"some pods are hidden":   {Blind{HiddenPodsPercent: 30}, true},
		"all pods are hidden":    {Blind{HiddenPodsPercent: 100}, false},
		"some samples are lost":  {Blind{LostSamplesPercent: 10}, true},
		"all samples are lost":   {Blind{LostSamplesPercent: 100}, false},
		"pods are seen at times": {Blind{Every: 15 * time.Minute}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := blindly(t, tc.blind)
			t.Logf("%d evictions instead of %d, hot for %.2f%% instead of %.2f%%", got.Evictions, all.Evictions, got.HotPercent, all.HotPercent)
			if (got.Evictions > 0) != tc.moves {
				t.Errorf("%d evictions", got.Evictions)
			}
			if cmp.Equal(got, all, cmpopts.EquateNaNs()) {
				t.Error("it plays as if everything were seen")
			}
			if diff := cmp.Diff(got, blindly(t, tc.blind), cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("twice the same (-once +again):\n%s", diff)
			}
		})
	}
}

func TestBlindIsChecked(t *testing.T) {
	for _, blind := range []Blind{{HiddenPodsPercent: -1}, {HiddenPodsPercent: 101}, {LostSamplesPercent: 101}, {Every: time.Minute}, {Every: -Step}, {Every: 2 * time.Hour}} {
		if blind.check() == nil {
			t.Errorf("%+v is allowed", blind)
		}
	}
}
