package handshakefaults

import (
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// versionBefore is the commit of the previous version. Each of the two versions must be able to
// read the other's ledger.
const versionBefore = "7824752"

// A replica of the previous version leads and is killed with moves in flight, so that one of this
// version takes over, as in an upgrade. That one is killed in the same way, and one of the previous
// version takes over, as in a rollback. Each continues the recorded moves of the other: there are
// as many evictions as one version alone would have needed, no replacement is evicted, and each
// lands as planned.
//
//e2e:tier all
func TestUpgradeAndRollback(t *testing.T) {
	before := stage.At(t, versionBefore).Binary
	f, skew := newFixture(t)
	policy := f.Policy(stage.RealUsage, paced(3*time.Second))
	service := f.serve()

	old := f.replicaBefore(service, "old", before, policy)
	f.leads(old)
	upgraded := f.replica(service, "upgraded", stage.Binary(), policy)
	f.takesOver(old, upgraded)
	back := f.replicaBefore(service, "back", before, policy)
	f.takesOver(upgraded, back)

	f.cooled(2 * time.Minute)
	f.released(back.listen)
	f.witness.Check(skew.Fewest + 1)
	f.notAgain()
	f.onPlan(back.listen)
	if len(f.by(back)) == 0 {
		t.Error("nothing was left to evict after the rollback: it proves nothing")
	}
	if writers := f.witness.Writers(); len(writers) != 3 {
		t.Errorf("the ledger was written by %v, want by three processes after each other", writers)
	}
	t.Logf("evictions: %d before the upgrade, %d after it, %d after the rollback, fewest %d",
		len(f.by(old)), len(f.by(upgraded)), len(f.by(back)), skew.Fewest)
}

// takesOver kills the leader as soon as it has evicted a pod, so that the next one finds its moves
// in flight.
func (f *fixture) takesOver(leader, next *replica) {
	f.T.Helper()
	f.until(90*time.Second, "an eviction by "+leader.name, f.witness.When(func() bool { return len(f.by(leader)) > 0 }))
	leader.Kill()
	document, _ := f.witness.Document()
	if document.In("Intended")+document.In("Evicted")+document.In("Booked") == 0 {
		f.T.Fatalf("%s had no move in flight when it was killed: its successor proves nothing", leader.name)
	}
	f.leads(next)
}
