package handshakefaults

import (
	"context"
<<<<<<< HEAD
	"fmt"
	"os/exec"
	"path/filepath"
=======
>>>>>>> 639a995 (The version before this one beside it; the shipped Deployments have a memory limit)
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
<<<<<<< HEAD
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// versionBefore is the commit of the version before, whose ledger this one has
// to read, and the other way round.
const versionBefore = "7824752"

// A replica of the version before leads and has moves in flight when one of this
// version takes over, as in an upgrade, and later one of the version before
// again, as in a rollback. Each goes on with what the other has on record: all
// in all there are as many evictions as one version would have needed, none of
// a replacement, and each lands as planned.
func TestUpgradeAndRollback(t *testing.T) {
	before := buildBefore(t)
	f, skew := newFixture(t)
	policy := f.Policy(stage.RealUsage, paced(3*time.Second))
	service := f.serve()

	old := f.replica(service, "old", before, policy)
	f.leads(old)
	upgraded := f.replica(service, "upgraded", stage.Binary(), policy)
	f.witness.WaitEvictions(90*time.Second, 1)
	f.handsOver(old, upgraded)
	back := f.replica(service, "back", before, policy)
	f.Eventually(time.Minute, "an eviction by this version", func(context.Context) bool { return len(f.by(upgraded)) > 0 })
	f.handsOver(upgraded, back)

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

// handsOver stops the leader just after an eviction, while its move is in
// flight.
func (f *fixture) handsOver(leader, next *replica) {
	f.T.Helper()
	f.until(time.Minute, "a move in flight", f.witness.When(func() bool {
		document, _ := f.witness.Document()
		return document.In("Evicted")+document.In("Booked") > 0
	}))
	if err := leader.Stop(); err != nil {
		f.T.Fatal(err)
	}
	f.leads(next)
}

// buildBefore compiles the version before from the repository's history.
func buildBefore(t *testing.T) string {
	t.Helper()
	root, err := evenkeel.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "before")
	run := func(folder, name string, args ...string) error {
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir = folder
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("%s %q: %w\n%s", name, args, err, out)
		}
		return nil
	}
	if err := run(root, "git", "worktree", "add", "--detach", dir, versionBefore); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command := exec.Command("git", "worktree", "remove", "--force", dir)
		command.Dir = root
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("removing the version before: %v\n%s", err, out)
		}
	})
	binary := filepath.Join(t.TempDir(), "evenkeel-before")
	if err := run(dir, "go", "build", "-o", binary, "./cmd/evenkeel"); err != nil {
		t.Fatal(err)
	}
	return binary
=======
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// This version and the one before stand side by side, with moves in flight: the
// older leads, this one takes over and the older after it, as in an upgrade and
// a rollback. All moves land as planned, whichever kube-scheduler asks.
func TestVersionsSideBySide(t *testing.T) {
	f := &fixture{Fixture: stage.New(t)}
	previous, err := stage.Previous(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	story, err := scenario.RequestSkew(t.Context(), f.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.witness = f.Witness()
	policy := f.Policy(stage.RealUsage, paced(3*time.Second))
	service, queue := f.serve(), follows(f.Fixture)
	first := f.replica(service, "older", previous, policy)
	f.leads(first)
	second := f.replica(service, "newer", stage.Binary(), policy)
	f.witness.WaitEvictions(90*time.Second, 2)

	f.succeeds(first, second, service)
	third := f.replica(service, "older-again", previous, policy)
	f.knows(third.Process, third.listen)
	f.Eventually(time.Minute, "evictions with the older one beside", func(context.Context) bool { return len(f.by(second)) >= 2 })

	f.succeeds(second, third, service)
	fourth := f.replica(service, "newer-again", stage.Binary(), policy)
	f.cooled(time.Minute)
	f.released(third.listen, fourth.listen)
	f.witness.Check(story.FewestEvictions + 1)
	f.notAgain()
	for _, replica := range []*replica{third, fourth} {
		f.onPlan(replica.listen)
		f.accounted(replica.listen, story.Hot)
	}
	if longest := queue.longest(); longest > pendingAtMost {
		t.Errorf("a pod waited for a node for %v", longest)
	}
	for _, leader := range []*replica{first, second, third} {
		if len(f.by(leader)) == 0 {
			t.Errorf("the leader %q evicted nothing, so its version proves nothing", leader.name)
		}
	}
	t.Logf("figures: %d evictions, %d older, %d newer, %d older; fewest %d, longest wait of a pod %.1f s", len(f.witness.Evictions()),
		len(f.by(first)), len(f.by(second)), len(f.by(third)), story.FewestEvictions, queue.longest().Seconds())
>>>>>>> 639a995 (The version before this one beside it; the shipped Deployments have a memory limit)
}
