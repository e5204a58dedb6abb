package handshakefaults

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// Four runs follow each other on the same hot nodes, beside an extender. The first is killed when
// its moves are recorded but none has been made, the second when it has made a move that is not
// confirmed yet. The third is told to stop in the middle. The fourth finds what the others left and
// finishes. All runs together evict as many pods as a single run would have.
func TestRunnersThatDie(t *testing.T) {
	f, skew := newFixture(t)
	policy := f.Policy(stage.RealUsage, paced(2*time.Second))
	f.extender(policy)
	run := func(args ...string) *evenkeel.Process {
		args = append(args, "--policy-config-file", policy, "--metrics-address", "0")
		return f.Start("run", append(shortLease(), args...)...)
	}

	// A run that does not know the extender's address waits half a second, so that the extender can
	// learn of the moves. This run is killed during that time.
	recorded := f.killedBeforeEvicting(run())
	asking := []string{"--extender-url", "http://" + stage.Listen()}
	f.killedBeforeConfirming(run(asking...), recorded)
	f.stoppedInTheMiddle(run(asking...))

	last := run(asking...)
	if code, err := last.Wait(t.Context()); err != nil || code != 0 {
		t.Fatalf("the last run ended with code %d, %v", code, err)
	}
	f.cooled(10 * time.Second)
	f.released(stage.Listen())
	f.witness.Check(skew.Fewest + 1)
	f.notAgain()
	f.onPlan(stage.Listen())
	t.Logf("%d evictions by four runs, fewest %d", len(f.witness.Evictions()), skew.Fewest)
}

// killedBeforeEvicting kills a run as soon as its intended moves are stored, and returns them.
func (f *fixture) killedBeforeEvicting(p *evenkeel.Process) stage.Document {
	f.T.Helper()
	f.until(time.Minute, "intents on record", f.witness.When(func() bool {
		document, _ := f.witness.Document()
		return document.In("Intended") > 0
	}))
	p.Kill()
	f.stays(0, 3*time.Second)
	document, _ := f.witness.Document()
	f.Eventually(5*time.Second, "the extender to know the dead run's moves", func(context.Context) bool {
		_, status := f.Ledger(stage.Listen())
		return status.InFlight == document.In("Intended")
	})
	return document
}

// killedBeforeConfirming lets a run cancel the dead run's moves, and kills it once its first pod is
// evicted.
func (f *fixture) killedBeforeConfirming(p *evenkeel.Process, dead stage.Document) {
	f.T.Helper()
	f.until(time.Minute, "an eviction", f.witness.When(func() bool { return len(f.witness.Left()) > 0 }))
	p.Kill()
	if got := len(f.witness.Evictions()); got != 1 {
		f.T.Fatalf("%d evictions when the second run was killed, want 1", got)
	}
	document, present := f.witness.Document()
	if !present {
		f.T.Fatal("there is no ledger")
	}
	for _, old := range dead.Moves {
		cancelled := false
		for _, move := range document.Moves {
			cancelled = cancelled || move.PodUID == old.PodUID && move.Recorded.Equal(old.Recorded) && move.State == "Cancelled"
		}
		if old.State == "Intended" && !cancelled {
			f.T.Errorf("the dead run's move of pod %s was not cancelled", old.Pod)
		}
	}
	evicted := f.witness.Evictions()[0]
	if move, _ := document.Of(f.witness.UID(evicted.Pod)); move.State != "Intended" {
		f.T.Errorf("the eviction of pod %s is on record as %s: the run was killed too late to prove anything", evicted.Pod, move.State)
	}
}

// stoppedInTheMiddle tells a run to stop after its first eviction.
func (f *fixture) stoppedInTheMiddle(p *evenkeel.Process) {
	f.T.Helper()
	before := len(f.witness.Evictions())
	f.witness.WaitEvictions(time.Minute, before+1)
	asked := time.Now()
	if err := p.Stop(); err != nil {
		f.T.Fatal(err)
	}
	if took := time.Since(asked); took > 10*time.Second {
		f.T.Errorf("it took %v to stop", took)
	}
	if code, err := p.Wait(f.T.Context()); err != nil || code != 0 {
		f.T.Errorf("the run that was told to stop ended with code %d, %v", code, err)
	}
	after := f.witness.Evictions()
	if len(after) > before+2 {
		f.T.Errorf("%d evictions after it was told to stop", len(after)-before-1)
	}
	f.Eventually(2*time.Second, "the last word of the run that was stopped", func(context.Context) bool {
		document, _ := f.witness.Document()
		return document.In("Intended") == 0
	})
	document, _ := f.witness.Document()
	for _, eviction := range after {
		if move, found := document.Of(f.witness.UID(eviction.Pod)); !found || move.State == "Cancelled" || move.Evicted.IsZero() {
			f.T.Errorf("pod %s was evicted, the ledger has it as %q at %v", eviction.Pod, move.State, move.Evicted)
		}
	}
}

// A run records a move and dies, and no other run follows. The extender reserves the usage of the
// move, and releases it when the move expires.
func TestReservationOfADeadRunEnds(t *testing.T) {
	f, skew := newFixture(t)
	f.extender(f.Policy(stage.RealUsage, paced(0)))
	const wait, ttl = 6 * time.Second, 4 * time.Second
	pod := f.Pods(t.Context(), "hog")[0]
	owner := pod.OwnerReferences[0]
	recorded := time.Now().UTC()
	f.store(stage.Document{Format: 1, Generation: 1, Writer: "a run that died", Written: recorded, Moves: []stage.DocumentMove{{
		Namespace: pod.Namespace, Pod: pod.Name, PodUID: string(pod.UID), TemplateHash: pod.Labels["pod-template-hash"],
		Owner: stage.DocumentOwner{UID: string(owner.UID), Kind: owner.Kind, Name: owner.Name},
		Usage: [2]int64{2200, 256 << 20}, From: pod.Spec.NodeName, To: skew.Nodes[5], Node: skew.Nodes[5],
		State: "Intended", Recorded: recorded, Wait: wait, TTL: ttl,
	}}})
	reserved := func() bool {
		_, status := f.Ledger(stage.Listen())
		return status.InFlight == 1
	}
	f.Eventually(5*time.Second, "the extender to reserve", func(context.Context) bool { return reserved() })
	// Expiry is checked at each sample, every five seconds.
	f.Eventually(wait+ttl+10*time.Second, "the end of the reservation", func(context.Context) bool { return !reserved() })
	if early := time.Since(recorded); early < wait+ttl {
		t.Errorf("the reservation ended after %v, want not before %v", early, wait+ttl)
	}
	if got := len(f.witness.Evictions()); got != 0 {
		t.Errorf("%d evictions", got)
	}
}

func (f *fixture) store(document stage.Document) {
	f.T.Helper()
	content, err := json.Marshal(document)
	if err != nil {
		f.T.Fatal(err)
	}
	packed, err := stage.Packed(content)
	if err != nil {
		f.T.Fatal(err)
	}
	ledger := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: stage.LedgerName}, BinaryData: map[string][]byte{stage.LedgerKey: packed}}
	if _, err := f.Client().CoreV1().ConfigMaps(evenkeel.Namespace).Create(f.T.Context(), ledger, metav1.CreateOptions{}); err != nil {
		f.T.Fatal(err)
	}
}
