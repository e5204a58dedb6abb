package handshakefaults

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// replica is one of several `evenkeel serve`.
type replica struct {
	*evenkeel.Process
	name, listen, metrics string
}

// replica starts a replica. kube-scheduler's requests reach it as soon as it reports that it is
// ready.
func (f *fixture) replica(service *service, name, binary, policy string) *replica {
	f.T.Helper()
	return f.replicaAt(f.FreeAddress(), service, name, binary, policy)
}

// replicaBefore is replica for a version that serves its reports at
// kube-scheduler's address.
func (f *fixture) replicaBefore(service *service, name, binary, policy string) *replica {
	f.T.Helper()
	listen := f.FreeAddress()
	evenkeel.ReportThere(listen)
	return f.replicaAt(listen, service, name, binary, policy)
}

func (f *fixture) replicaAt(listen string, service *service, name, binary, policy string) *replica {
	f.T.Helper()
	r := &replica{name: name, listen: listen, metrics: f.FreeAddress()}
	r.Process = f.StartAs(name, binary, "serve", append(shortLease(), "--policy-config-file", policy, "--descheduling-interval", "3s",
		"--listen-address", r.listen, "--metrics-address", r.metrics)...)
	if err := r.WaitServing(f.T.Context(), "http://"+r.metrics+"/readyz"); err != nil {
		f.T.Fatal(err)
	}
	service.Add(r.listen)
	return r
}

// leads waits until a replica holds the Lease.
func (f *fixture) leads(r *replica) {
	f.T.Helper()
	f.Eventually(30*time.Second, r.name+" to lead", func(context.Context) bool { return stage.Leads(r.Process) })
}

// by returns the evictions that a replica requested.
func (f *fixture) by(r *replica) (evictions []stage.Eviction) {
	for _, eviction := range f.witness.Evictions() {
		if eviction.Program == r.name {
			evictions = append(evictions, eviction)
		}
	}
	return evictions
}

// The leader freezes in the middle of its cycle for longer than its Lease. The other replica takes
// over its moves, cancels those that were not made, and continues. When the old leader wakes up, it
// evicts nothing that it would have evicted after its Lease could be taken over, and follows.
func TestLeaderFreezes(t *testing.T) {
	f, skew := newFixture(t)
	policy := f.Policy(stage.RealUsage, paced(2*time.Second))
	service := f.serve()
	first := f.replica(service, "first", stage.Binary(), policy)
	f.leads(first)
	second := f.replica(service, "second", stage.Binary(), policy)

	f.witness.WaitEvictions(90*time.Second, 2)
	frozen := time.Now()
	if err := first.Freeze(); err != nil {
		t.Fatal(err)
	}
	f.leads(second)
	f.Eventually(40*time.Second, "an eviction by the second leader", func(context.Context) bool { return len(f.by(second)) > 0 })
	if err := first.Thaw(); err != nil {
		t.Fatal(err)
	}
	f.cooled(time.Minute)
	f.released(second.listen)
	f.witness.Check(skew.Fewest + 1)
	f.notAgain()
	f.onPlan(second.listen)
	for _, eviction := range f.by(first) {
		if late := eviction.At.Sub(frozen.Add(leaseOver)); late > 0 {
			t.Errorf("the old leader evicted pod %s %v after its Lease could have been taken", eviction.Pod, late)
		}
	}
	f.Eventually(15*time.Second, "the old leader to follow the new one", func(context.Context) bool {
		_, follows := f.Ledger(first.listen)
		_, leads := f.Ledger(second.listen)
		return !stage.Leads(first.Process) && follows == leads
	})
	if first.Ended() {
		t.Error("the old leader has ended")
	}
	if writers := f.witness.Writers(); len(writers) != 2 {
		t.Errorf("the ledger was written by %v, want by the first leader and then by the second alone", writers)
	}
	t.Logf("evictions: %d by the first leader, %d by the second, fewest %d", len(f.by(first)), len(f.by(second)), skew.Fewest)
}

// The API server dies in the middle of a cycle, between two moves, and restarts; on a fast machine
// before the Lease expires. If that takes longer, the leader steps down and leads again. (A
// replacement whose binding fails twice is like any other pod, and lands elsewhere.)
func TestAPIServerRestarts(t *testing.T) {
	f, skew := newFixture(t)
	f.witness.AllowGaps()
	p := f.Serve(f.Policy(stage.RealUsage, paced(2*time.Second)), "--leader-elect=true")
	f.witness.WaitEvictions(90*time.Second, 2)
	f.Eventually(5*time.Second, "their replacements to be bound", f.allBound)
	if err := f.Kill(cluster.APIServer); err != nil {
		t.Fatal(err)
	}
	away := time.Now()
	if err := f.Restart(t.Context(), cluster.APIServer); err != nil {
		t.Fatal(err)
	}
	t.Logf("the API server was away for %v, %d evictions before", time.Since(away).Round(time.Millisecond), len(f.witness.Evictions()))
	if got := len(f.witness.Evictions()); got >= skew.Fewest {
		t.Fatalf("%d evictions already: there was no middle of a cycle", got)
	}
	back := time.Now()
	f.Eventually(30*time.Second, "the Lease renewed", func(ctx context.Context) bool { return f.renewedAfter(ctx, back) })
	f.cooled(90 * time.Second)
	if p.Ended() {
		t.Fatal("evenkeel serve ended")
	}
	f.released(stage.Listen())
	f.witness.Check(skew.Fewest + 1)
	f.notAgain()
	f.onPlan(stage.Listen())
	t.Logf("%d evictions, fewest %d", len(f.witness.Evictions()), skew.Fewest)
}

// renewedAfter reports whether a process has renewed the Lease after the given time.
func (f *fixture) renewedAfter(ctx context.Context, since time.Time) bool {
	lease, err := f.Client().CoordinationV1().Leases(evenkeel.Namespace).Get(ctx, "evenkeel", metav1.GetOptions{})
	return err == nil && lease.Spec.RenewTime != nil && lease.Spec.RenewTime.After(since)
}
