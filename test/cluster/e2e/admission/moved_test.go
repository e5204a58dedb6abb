package admission

import (
	"context"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// bySteering has the API server steer.
const bySteering = `
---
apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
usage: {sampleInterval: 5s, maxAge: 35s, observationPeriod: 25s}
hot: {windows: [avg_5m], consecutiveSamples: 2, minWindow: 15s, startup: 0s}
lines:
  cpu: {low: 45, reject: 60, evict: 65, leave: 60}
  memory: {low: 45, reject: 60, evict: 65, leave: 60}
eviction: {ownerSettle: 0s, nodeSettle: 0s, cycleDeadline: 3m, steering: admission}
`

// kube-scheduler asks nobody, and every replacement lands where it was planned.
func TestSkewWithoutExtender(t *testing.T) {
	f := stage.New(t)
	f.RestoreScheduler()
	if err := f.RestartScheduler(t.Context()); err != nil {
		t.Fatal(err)
	}
	ours := install(t, f, "admission-steering")
	story, err := scenario.RequestSkew(t.Context(), f.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, mark := f.PodsByUID(t.Context()), f.Mark()
	f.Serve(f.Policy(stage.RealUsage, bySteering))
	f.Eventually(2*time.Minute, "no node above its line", func(ctx context.Context) bool {
		return len(f.Hot(ctx, story.EvictLinePercent)) == 0
	})
	f.Eventually(30*time.Second, "no move in flight", func(context.Context) bool {
		return !slices.ContainsFunc(f.Moves(), func(m stage.Move) bool { return m.InFlight() })
	})
	evictions, exact := f.Evictions(mark), 0
	after := f.PodsByUID(t.Context())
	for _, move := range f.Moves() {
		replacement := after[move.Replacement]
		switch {
		case move.State == "Cancelled": // it was planned and not made
		case move.State != "Landed" || slices.Contains(story.Hot, replacement.Spec.NodeName):
			t.Errorf("%s, which is on %q", &move, replacement.Spec.NodeName)
		case replacement.Spec.NodeName == move.To:
			exact++
		default:
			t.Errorf("%s, which is on %q", &move, replacement.Spec.NodeName)
		}
	}
	if evictions > story.FewestEvictions+1 || exact != evictions {
		t.Errorf("%d evictions, want %d or one more; %d of the replacements are on their planned nodes, want all", evictions, story.FewestEvictions, exact)
	}
	for uid, pod := range after {
		if _, old := before[uid]; !old && len(pod.Spec.SchedulingGates) > 0 {
			t.Errorf("pod %s is still held", pod.Name)
		}
	}
	f.Eventually(20*time.Second, "no key left", func(ctx context.Context) bool {
		list, err := ours.keys.List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 0
	})
	t.Logf("evictions %d, fewest %d; on plan %d", evictions, story.FewestEvictions, exact)
}
