package handshakefaults

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// kube-scheduler asks two replicas in turn. First the leader's clock is ten minutes ahead. Then a
// follower whose clock is ten minutes behind becomes the leader, beside a follower whose clock is
// ahead. All moves land as planned, and the times in the ledger are the API server's.
//
//e2e:tier all
func TestClocksOff(t *testing.T) {
	f := &fixture{Fixture: stage.New(t)}
	ahead, behind := f.off(10*time.Minute), f.off(-10*time.Minute)
	story, err := scenario.RequestSkew(t.Context(), f.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.witness = f.Witness()
	began := time.Now()
	policy := f.Policy(stage.RealUsage, paced(3*time.Second))

	service := f.serve()
	first := f.replica(service, "ahead", ahead, policy)
	f.leads(first)
	second := f.replica(service, "right", stage.Binary(), policy)
	f.differs(first, 10*time.Minute)
	f.differs(second, 0)
	f.witness.WaitEvictions(90*time.Second, 2)

	f.succeeds(first, second, service)
	third := f.replica(service, "behind", behind, policy)
	f.knows(third.Process, third.listen)
	f.differs(third, -10*time.Minute)
	f.Eventually(time.Minute, "evictions with the follower behind", func(context.Context) bool { return len(f.by(second)) >= 2 })

	f.succeeds(second, third, service)
	fourth := f.replica(service, "also-ahead", ahead, policy)

	f.cooled(time.Minute)
	f.released(third.listen, fourth.listen)
	f.witness.Check(story.FewestEvictions + 1)
	f.notAgain()
	f.onPlan(third.listen)
	f.onPlan(fourth.listen)
	document, _ := f.witness.Document()
	for _, move := range document.Moves {
		for _, at := range []time.Time{move.Recorded, move.Evicted, move.Ended} {
			if !at.IsZero() && (at.Before(began.Add(-5*time.Second)) || at.After(time.Now().Add(5*time.Second))) {
				t.Errorf("pod %s has a time of %v on record, want one since %v", move.Pod, at, began)
			}
		}
	}
	for _, leader := range []*replica{first, second, third} {
		if len(f.by(leader)) == 0 {
			t.Errorf("the leader %q evicted nothing, so its clock proves nothing", leader.name)
		}
	}
	t.Logf("%d evictions: %d with the leader ahead, %d right, %d behind; fewest %d", len(f.witness.Evictions()),
		len(f.by(first)), len(f.by(second)), len(f.by(third)), story.FewestEvictions)
}

// succeeds stops a leader, so that its follower is the only replica and leads.
func (f *fixture) succeeds(leader, follower *replica, service *service) {
	f.T.Helper()
	service.Only(follower.listen)
	if err := leader.Stop(); err != nil {
		f.T.Fatal(err)
	}
	f.leads(follower)
}

// off returns a build of the program whose clock is off.
func (f *fixture) off(by time.Duration) string {
	f.T.Helper()
	binary, err := stage.WithClockOff(f.T.Context(), by)
	if err != nil {
		f.T.Fatal(err)
	}
	return binary
}

// differs fails the case unless a replica measures this difference between its own clock and the
// API server's.
func (f *fixture) differs(r *replica, by time.Duration) {
	f.T.Helper()
	if got := f.Metric(r.metrics, "evenkeel_clock_skew_seconds"); math.Abs(math.Abs(got)-math.Abs(by.Seconds())) > 5 {
		f.T.Errorf("%s finds its clock %v s off, want %v", r.name, got, by)
	}
}
