package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// kube-scheduler is configured without the extender. One pod is evicted as a probe, and none in the
// following cycles, because by requests the hot nodes look emptiest and every further pod would
// come straight back. Once kube-scheduler asks the extender, the nodes are cooled.
func TestSteeringAbsentStopsEvicting(t *testing.T) {
	f := newFixture(t)
	skew := f.Skew()
	f.schedulerWithoutExtender()
	mark, address := f.Mark(), f.FreeAddress()
	f.Serve(f.Policy(stage.RealUsage, stage.Fast), "--metrics-address", address)
	f.Eventually(90*time.Second, "the probe", func(context.Context) bool { return f.Evictions(mark) > 0 })
	f.waitCycles(address, 4)
	if got := f.Evictions(mark); got != 1 {
		t.Fatalf("%d evictions without steering, want the probe alone", got)
	}
	if left := f.Metric(address, `evenkeel_moves_skipped_total{reason="steering_absent"}`); left == 0 {
		t.Error("no move was left for SteeringAbsent")
	}
	f.Firing("nothing steers", []string{"EvenkeelSteeringAbsent"}, address)

	if err := f.RestartScheduler(t.Context(), stage.ShippedExtender()); err != nil {
		t.Fatal(err)
	}
	if got := f.Evictions(mark); got != 1 {
		t.Fatalf("%d evictions before kube-scheduler asked anything, want 1", got)
	}
	w := stage.Workload("asked", cluster.Resources{CPU: "100m", Memory: "128Mi"}, cluster.Resources{CPU: "100m", Memory: "128Mi"})
	w.Replicas = 1
	if err := f.Deploy(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	f.Eventually(time.Minute, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	if got, most := f.Evictions(mark), skew.Fewest+1; got > most {
		t.Errorf("%d evictions, want at most the probe and the fewest possible, %d", got, most)
	}
}

// metrics-server is down before anything can be decided. Nothing is evicted, the extender neither
// filters nor prefers nodes, and pods are scheduled. Once metrics-server is back, the hot nodes are
// cooled.
func TestMetricsServerStopped(t *testing.T) {
	f := newFixture(t)
	skew := f.Skew()
	f.StopMetricsServer()
	mark, address := f.Mark(), f.FreeAddress()
	f.Serve(f.Policy(stage.RealUsage, stage.Impatient), "--metrics-address", address)
	f.WantNeutral(stage.Listen(), skew.Nodes)
	f.waitCycles(address, 2)
	f.WantNeutral(stage.Listen(), skew.Nodes)
	w := stage.Workload("meanwhile", cluster.Resources{CPU: "100m", Memory: "128Mi"}, cluster.Resources{CPU: "100m", Memory: "128Mi"})
	w.Replicas = 6
	if err := f.Deploy(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if got := f.Evictions(mark); got != 0 {
		t.Fatalf("%d evictions without usage data, want 0", got)
	}
	f.Eventually(10*time.Second, "an Event that says why", func(ctx context.Context) bool { return f.gateEvent(ctx, "UsageSourceUnavailable") })

	if err := f.Restart(t.Context(), cluster.MetricsServer); err != nil {
		t.Fatal(err)
	}
	f.Eventually(90*time.Second, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	if got, most := f.Evictions(mark), skew.Fewest+1; got > most {
		t.Errorf("%d evictions, want at most %d", got, most)
	}
	f.Eventually(10*time.Second, "an Event that it is over", func(ctx context.Context) bool { return f.gateEvent(ctx, "UsageGateOpened") })
}

// gateEvent reports whether an Event with this reason exists on the ConfigMap
// that pauses Evenkeel.
func (f *fixture) gateEvent(ctx context.Context, reason string) bool {
	f.T.Helper()
	events, err := f.Client().EventsV1().Events(evenkeel.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	return slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool {
		return e.Reason == reason && e.Regarding.Kind == "ConfigMap" && e.Note != ""
	})
}

// New pods are scheduled whether Evenkeel answers, no longer answers or does not run. A frozen
// process is the worst case: each pod waits for the extender's whole httpTimeout of 200 ms, once
// for filter and once for prioritize, which limits scheduling to 2.5 pods per second.
func TestSchedulingWithoutAnswer(t *testing.T) {
	f := newFixture(t)
	if _, err := f.AddNodes(t.Context(), 12, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"}); err != nil {
		t.Fatal(err)
	}
	p := f.Serve(f.Policy(stage.RealUsage, stage.Fast))
	t.Cleanup(func() { _ = p.Thaw() }) // a frozen process could not be stopped; the error of one that has ended is ignored
	f.RestoreScheduler()
	with, without := []schedulerv1.Extender{stage.ShippedExtender()}, []schedulerv1.Extender(nil)

	t.Logf("%6.1f pods/s with no extender configured", f.podsPerSecond("none", 150, without))
	if err := p.Freeze(); err != nil {
		t.Fatal(err)
	}
	frozen := f.podsPerSecond("frozen", 20, with)
	t.Logf("%6.1f pods/s with Evenkeel frozen", frozen)
	if frozen < 1 {
		t.Errorf("%.1f pods/s with Evenkeel frozen, two timeouts of 200 ms a pod should leave 2.5", frozen)
	}
	if err := p.Thaw(); err != nil {
		t.Fatal(err)
	}
	f.Eventually(time.Minute, "Evenkeel goes on and knows all nodes", func(context.Context) bool {
		return f.Status(stage.Listen()).FreshNodes == 12
	})
	t.Logf("%6.1f pods/s with Evenkeel running", f.podsPerSecond("running", 150, with))
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%6.1f pods/s with Evenkeel stopped", f.podsPerSecond("stopped", 150, with))
}

// All nodes are hot. There is no destination, so nothing is evicted. The extender rejects no node,
// because a pod is better running on a hot node than not running at all.
func TestAllNodesHot(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 4, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	hog := stage.Workload("hog", cluster.Resources{CPU: "250m", Memory: "128Mi"}, cluster.Resources{CPU: "2200m", Memory: "256Mi"})
	if err := f.Place(t.Context(), cluster.Placement{Workload: hog, On: stage.On(12, nodes...)}); err != nil {
		t.Fatal(err)
	}
	mark, address := f.Mark(), f.FreeAddress()
	p := f.Serve(f.Policy(stage.RealUsage, stage.Fast), "--metrics-address", address)
	f.Eventually(90*time.Second, "all nodes known to be hot", func(ctx context.Context) bool {
		states := f.States(ctx)
		return len(states) == len(nodes) && !slices.ContainsFunc(nodes, func(n string) bool { return states[n] != "hot" })
	})
	if kept := f.Filter(stage.Listen(), nodes); !slices.Equal(kept, nodes) {
		t.Errorf("the extender kept %v of nodes that are all hot, want all of %v", kept, nodes)
	}
	w := stage.Workload("latecomer", cluster.Resources{CPU: "100m", Memory: "128Mi"}, cluster.Resources{CPU: "100m", Memory: "128Mi"})
	w.Replicas = 4
	if err := f.Deploy(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	f.Eventually(30*time.Second, "pods declined for NoLanding", func(context.Context) bool {
		return strings.Contains(p.Log(), `reason="NoLanding"`)
	})
	f.waitCycles(address, 2)
	if got := f.Evictions(mark); got != 0 {
		t.Errorf("%d evictions with nowhere to go, want 0", got)
	}
}
