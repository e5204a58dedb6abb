package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// kube-scheduler is configured without the extender. One pod is evicted, the probe, and none in the cycles after it: by
// requests the hot nodes look emptiest, so every further one would come straight back. Once kube-scheduler asks, the nodes
// are cooled.
func TestSteeringAbsentStopsEvicting(t *testing.T) {
	f := newFixture(t)
	skew := f.skew()
	f.schedulerWithoutExtender()
	mark, address := f.mark(), f.freeAddress()
	f.serve(f.policy(realUsage, fast), "--metrics-address", address)
	f.eventually(90*time.Second, "the probe", func(context.Context) bool { return f.evictions(mark) > 0 })
	f.waitCycles(address, 4)
	if got := f.evictions(mark); got != 1 {
		t.Fatalf("%d evictions without steering, want the probe alone", got)
	}
	if left := f.metric(address, `evenkeel_moves_left_total{reason="SteeringAbsent"}`); left == 0 {
		t.Error("no move was left for SteeringAbsent")
	}

	if err := f.RestartScheduler(t.Context(), shippedExtender()); err != nil {
		t.Fatal(err)
	}
	if got := f.evictions(mark); got != 1 {
		t.Fatalf("%d evictions before kube-scheduler asked anything, want 1", got)
	}
	w := workload("asked", cluster.Resources{CPU: "100m", Memory: "128Mi"}, cluster.Resources{CPU: "100m", Memory: "128Mi"})
	w.Replicas = 1
	if err := f.Deploy(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	f.eventually(time.Minute, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.hot(ctx, 65)) == 0 })
	if got, most := f.evictions(mark), skew.fewest+1; got > most {
		t.Errorf("%d evictions, want at most the probe and the fewest possible, %d", got, most)
	}
}

// metrics-server is down before anything could be decided: nothing is evicted, the extender neither filters nor prefers,
// and pods are scheduled. It comes back: the hot nodes are cooled.
func TestMetricsServerStopped(t *testing.T) {
	f := newFixture(t)
	skew := f.skew()
	f.stopMetricsServer()
	mark, address := f.mark(), f.freeAddress()
	f.serve(f.policy(realUsage, impatient), "--metrics-address", address)
	f.wantNeutral(shared.listen, skew.nodes)
	f.waitCycles(address, 2)
	f.wantNeutral(shared.listen, skew.nodes)
	w := workload("meanwhile", cluster.Resources{CPU: "100m", Memory: "128Mi"}, cluster.Resources{CPU: "100m", Memory: "128Mi"})
	w.Replicas = 6
	if err := f.Deploy(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if got := f.evictions(mark); got != 0 {
		t.Fatalf("%d evictions without usage data, want 0", got)
	}

	if err := f.Restart(t.Context(), cluster.MetricsServer); err != nil {
		t.Fatal(err)
	}
	f.eventually(90*time.Second, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.hot(ctx, 65)) == 0 })
	if got, most := f.evictions(mark), skew.fewest+1; got > most {
		t.Errorf("%d evictions, want at most %d", got, most)
	}
}

// New pods are scheduled whether Evenkeel answers, does not answer any more or is not there. A frozen process is the
// dearest: it costs every pod the extender's whole httpTimeout of 200 ms for filter and again for prioritize, so at most
// 2.5 pods a second.
func TestSchedulingWithoutAnswer(t *testing.T) {
	f := newFixture(t)
	if _, err := f.AddNodes(t.Context(), 12, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"}); err != nil {
		t.Fatal(err)
	}
	p := f.serve(f.policy(realUsage, fast))
	t.Cleanup(func() { _ = p.Thaw() }) // else it could not be stopped; fails when it has ended
	f.restoreScheduler()
	with, without := []schedulerv1.Extender{shippedExtender()}, []schedulerv1.Extender(nil)

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
	f.eventually(time.Minute, "Evenkeel goes on and knows all nodes", func(context.Context) bool {
		return f.status(shared.listen).FreshNodes == 12
	})
	t.Logf("%6.1f pods/s with Evenkeel running", f.podsPerSecond("running", 150, with))
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%6.1f pods/s with Evenkeel stopped", f.podsPerSecond("stopped", 150, with))
}

// All nodes are hot: there is nowhere to go, so nothing is evicted, and the extender rejects none of them, because a pod
// that runs on a hot node beats one that does not run.
func TestAllNodesHot(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 4, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	hog := workload("hog", cluster.Resources{CPU: "250m", Memory: "128Mi"}, cluster.Resources{CPU: "2200m", Memory: "256Mi"})
	if err := f.Place(t.Context(), cluster.Placement{Workload: hog, On: on(12, nodes...)}); err != nil {
		t.Fatal(err)
	}
	mark, address := f.mark(), f.freeAddress()
	p := f.serve(f.policy(realUsage, fast), "--metrics-address", address)
	f.eventually(90*time.Second, "all nodes known to be hot", func(ctx context.Context) bool {
		states := f.states(ctx)
		return len(states) == len(nodes) && !slices.ContainsFunc(nodes, func(n string) bool { return states[n] != "hot" })
	})
	if kept := f.filter(shared.listen, nodes); !slices.Equal(kept, nodes) {
		t.Errorf("the extender kept %v of nodes that are all hot, want all of %v", kept, nodes)
	}
	w := workload("latecomer", cluster.Resources{CPU: "100m", Memory: "128Mi"}, cluster.Resources{CPU: "100m", Memory: "128Mi"})
	w.Replicas = 4
	if err := f.Deploy(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	f.eventually(30*time.Second, "pods declined for NoLanding", func(context.Context) bool {
		return strings.Contains(p.Log(), `reason="NoLanding"`)
	})
	f.waitCycles(address, 2)
	if got := f.evictions(mark); got != 0 {
		t.Errorf("%d evictions with nowhere to go, want 0", got)
	}
}
