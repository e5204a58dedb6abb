package handshakefaults

import (
	"context"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// The leader of two replicas is cut off from the API server: every connection goes silent and none
// is closed, while kube-scheduler still asks both replicas. The other replica takes over. The old
// leader evicts nothing after its Lease could be taken over, and follows once it is reconnected.
func TestPartitionedLeader(t *testing.T) {
	f, skew := newFixture(t)
	policy := f.Policy(stage.RealUsage, paced(2*time.Second))
	service, queue := f.serve(), follows(f.Fixture)
	through, proxy := f.APIProxy()
	first := (&fixture{Fixture: through, witness: f.witness}).replica(service, "first", stage.Binary(), policy)
	f.leads(first)
	second := f.replica(service, "second", stage.Binary(), policy)
	f.witness.WaitEvictions(90*time.Second, 2)

	proxy.Partition(true)
	cut := time.Now()
	s := &scene{fixture: f}
	s.passersby()
	f.leads(second)
	led := time.Since(cut)
	f.Eventually(40*time.Second, "evictions by the second leader", func(context.Context) bool { return len(f.by(second)) >= 2 })
	f.Eventually(time.Minute, "the first to know no usage any more", func(context.Context) bool { return f.Status(first.listen).FreshNodes == 0 })
	// Its requests fail after a delay. They are usually more than a tenth of the requests of both
	// replicas.
	f.FiringBeside("a replica is cut off", "EvenkeelAPIServerSlow",
		[]string{"EvenkeelAPIServerErrors", "EvenkeelReplicaBehind", "EvenkeelReplicasDisagree", "EvenkeelUsageCoverageLow"}, first.metrics, second.metrics)
	proxy.Partition(false)
	healed := time.Now()
	f.Eventually(time.Minute, "the first to follow the second", func(context.Context) bool {
		if first.Ended() {
			t.Fatal("the replica that was cut off has ended")
		}
		_, follows := f.Ledger(first.listen)
		_, leads := f.Ledger(second.listen)
		return !stage.Leads(first.Process) && follows == leads
	})
	normal := time.Since(healed)

	f.cooled(90 * time.Second)
	f.released(first.listen, second.listen)
	f.witness.Check(skew.Fewest + 1)
	f.notAgain()
	f.accounted(second.listen, skew.Hot)
	for _, eviction := range f.by(first) {
		if late := eviction.At.Sub(cut.Add(leaseOver)); late > 0 {
			t.Errorf("the leader that was cut off evicted pod %s %v after its Lease could have been taken", eviction.Pod, late)
		}
	}
	if longest := queue.longest(); longest > pendingAtMost {
		t.Errorf("a pod waited for a node for %v", longest)
	}
	t.Logf("figures: another leads after %.1f s, normal after %.1f s, %d evictions by the first, %d by the second, fewest %d, longest wait of a pod %.1f s",
		led.Seconds(), normal.Seconds(), len(f.by(first)), len(f.by(second)), skew.Fewest, queue.longest().Seconds())
}
