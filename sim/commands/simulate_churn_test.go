package commands

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// When pods are deployed anew, the extender alone leaves less node-time hot than kube-scheduler
// alone, without a single eviction. With evictions, even less node-time is hot. The deploys are the
// same for all variants, and a second run has the same results.
func TestDeploysAreSteered(t *testing.T) {
	play := func(o *SimulateOptions) {
		o.Run.DeploysPerDay, o.Compare = 4, []string{"none", "extender-only", "evenkeel"}
	}
	once := simulated(t, play)
	none, extender, evenkeel := once["none"], once["extender-only"], once["evenkeel"]
	if none.Deployed == 0 || none.HotPercent < 0.5 {
		t.Fatalf("%d pods were deployed, %.2f %% is hot: nothing to compare", none.Deployed, none.HotPercent)
	}
	if none.Deployed != extender.Deployed || none.Deployed != evenkeel.Deployed {
		t.Errorf("%d, %d and %d pods were deployed", none.Deployed, extender.Deployed, evenkeel.Deployed)
	}
	if extender.HotPercent > none.HotPercent*2/3 || extender.CPUDeviation > none.CPUDeviation-1 || extender.Evictions > 0 {
		t.Errorf("the extender alone leaves %.2f %% hot and a deviation of %.1f with %d evictions, nobody %.2f %% and %.1f",
			extender.HotPercent, extender.CPUDeviation, extender.Evictions, none.HotPercent, none.CPUDeviation)
	}
	if evenkeel.HotPercent > extender.HotPercent || evenkeel.Evictions == 0 {
		t.Errorf("both halves leave %.2f %% hot with %d evictions, the extender alone %.2f %%",
			evenkeel.HotPercent, evenkeel.Evictions, extender.HotPercent)
	}
	if evenkeel.OnPlan != evenkeel.Evictions || evenkeel.Pending > 0 {
		t.Errorf("of %d moves %d landed on plan, %d waited", evenkeel.Evictions, evenkeel.OnPlan, evenkeel.Pending)
	}
	if diff := cmp.Diff(once, simulated(t, play)); diff != "" {
		t.Errorf("twice the same (-once +again):\n%s", diff)
	}
}

// Budgets refuse evictions of upstream, which asks the API server, and keep Evenkeel from asking.
// Neither evicts anything under a budget that never allows an eviction.
func TestBudgetsHold(t *testing.T) {
	for name, tc := range map[string]struct {
		percent          int
		refused, evicted bool
	}{
		"no pod may be away":   {0, true, false},
		"one in ten may":       {10, true, true},
		"there are no budgets": {100, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			results := simulated(t, func(o *SimulateOptions) {
				o.Run.MaxUnavailablePercent, o.Run.Steps, o.Compare = tc.percent, 144, []string{"upstream-metrics", "evenkeel"}
			})
			upstream, evenkeel := results["upstream-metrics"], results["evenkeel"]
			if upstream.Refused > 0 != tc.refused || upstream.Evictions > 0 != tc.evicted || evenkeel.Evictions > 0 != tc.evicted {
				t.Errorf("upstream evicted %d pods and was refused %d, Evenkeel evicted %d", upstream.Evictions, upstream.Refused, evenkeel.Evictions)
			}
			if evenkeel.Refused > 0 {
				t.Errorf("Evenkeel asked %d times for what it could know", evenkeel.Refused)
			}
		})
	}
}
