package e2e

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// returning runs only ReturnPodsToPreferredNodes.
const returning = `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: evenkeel
  pluginConfig:
  - name: ReturnPodsToPreferredNodes
    args: {}
  plugins:
    balance:
      enabled: [ReturnPodsToPreferredNodes]
`

// Pods that landed on expensive nodes return to the cheap nodes that they prefer, as long as these
// accept them, and stay there.
//
//	cheap: 2 × 8 of 32 cores = 50 %; a third pod would raise it to 75 %, above the reject line of 60 %
//
//e2e:tier all
func TestPodsReturnToPreferredNodes(t *testing.T) {
	f := newFixture(t)
	preferred, others := f.nodes("cheap-", 1, "pool", "cheap"), f.nodes("dear-", 2, "pool", "dear")
	web := stage.Workload("web", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "8", Memory: "64Mi"})
	web.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
		Weight: 50, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "pool", Operator: v1.NodeSelectorOpIn, Values: []string{"cheap"}}}},
	}}}}
	all := append(append([]string{}, preferred...), others...)
	if err := f.Place(t.Context(), agents(all...), cluster.Placement{Workload: web, On: map[string]int{others[0]: 2, others[1]: 1}}); err != nil {
		t.Fatal(err)
	}
	mark := f.Mark()
	f.Serve(f.Policy(returning, stage.Fast))
	returned := func() (pods int) {
		for _, pod := range f.Pods(t.Context(), "web") {
			if pod.Spec.NodeName == preferred[0] {
				pods++
			}
		}
		return pods
	}
	f.Eventually(2*time.Minute, "two pods on the preferred node", func(context.Context) bool { return returned() == 2 })
	f.Eventually(20*time.Second, "every replacement bound and ready", func(ctx context.Context) bool {
		return f.WaitReady(ctx, "shop", "web") == nil
	})
	time.Sleep(15 * time.Second) // several cycles
	if pods, evictions := returned(), f.Evictions(mark); pods != 2 || evictions != 2 {
		t.Errorf("%d pods on the preferred node after %d evictions, want 2 after 2", pods, evictions)
	}
}
