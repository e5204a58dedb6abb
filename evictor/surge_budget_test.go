package evictor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A budget that forbids to move the only pod may allow it once there are two.
func TestNeverWithSurge(t *testing.T) {
	budget := func(minAvailable, maxUnavailable string, pods, desired int32) *policyv1.PodDisruptionBudget {
		pdb := &policyv1.PodDisruptionBudget{Status: policyv1.PodDisruptionBudgetStatus{ExpectedPods: pods, DesiredHealthy: desired}}
		if minAvailable != "" {
			value := intstr.Parse(minAvailable)
			pdb.Spec.MinAvailable = &value
		}
		if maxUnavailable != "" {
			value := intstr.Parse(maxUnavailable)
			pdb.Spec.MaxUnavailable = &value
		}
		return pdb
	}
	cases := map[string]struct {
		pdb  *policyv1.PodDisruptionBudget
		want bool
	}{
		"one of one":                    {budget("1", "", 1, 1), false},
		"two of one":                    {budget("2", "", 1, 2), true},
		"half of one, rounded up":       {budget("50%", "", 1, 1), false},
		"51 percent of two is two":      {budget("51%", "", 1, 1), true},
		"all of one":                    {budget("100%", "", 1, 1), true},
		"none may be missing":           {budget("", "0", 1, 1), true},
		"one may be missing":            {budget("", "1", 1, 0), false},
		"half of one may be missing":    {budget("", "50%", 1, 0), false},
		"neither is said":               {budget("", "", 1, 1), false},
		"what cannot be read is all":    {budget("many", "", 1, 1), true},
		"a budget over several owners":  {budget("5", "", 5, 5), false},
		"a budget with room as it is":   {budget("1", "", 3, 1), false},
		"a budget that selects nothing": {budget("100%", "", 0, 0), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := neverAllowsWithSurge(tc.pdb); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// A surge that has begun takes room in a quota, though its pod is not created
// yet: the next one waits for it.
func TestSurgesShareAQuota(t *testing.T) {
	surging(t, func(t *testing.T, p *surgePlay) {
		p.config.quotas = func() []*v1.ResourceQuota { return podQuota(3, int64(len(p.all())))() }
		if diff := cmp.Diff([]string{"a", "b"}, p.run(t.Context(), "a", "b")); diff != "" {
			t.Errorf("moves (-want +got):\n%s", diff)
		}
		if p.most != 1 {
			t.Errorf("%d Deployments wanted a second pod at a time, the quota has room for one", p.most)
		}
		p.settled(t)
	})
}
