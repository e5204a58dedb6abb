package handshake

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// kube-scheduler's requests alternate between two replicas of `evenkeel serve`. Only one replica
// evicts, but both send every replacement to its planned node.
//
//e2e:tier all
func TestSkewTwoReplicas(t *testing.T) {
	fixed := stage.New(t)
	story, err := scenario.RequestSkew(t.Context(), fixed.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	leading, following, metrics := fixed.FreeAddress(), fixed.FreeAddress(), fixed.FreeAddress()
	f := begin(fixed, leading, following)
	policy := f.Policy(stage.RealUsage, stage.Fast)
	f.Serve(policy, "--listen-address", leading, "--metrics-address", metrics, "--leader-elect=true")
	f.Eventually(30*time.Second, "a leader", func(ctx context.Context) bool { return f.leader(ctx) != "" })
	f.Serve(policy, "--listen-address", following, "--leader-elect=true")
	f.waitCool(2 * time.Minute)
	f.waitSettled(leading, metrics, 3, "hog", "web", "bg")

	moves, status := f.Ledger(leading)
	result := f.judge(moves)
	wantSkewCooled(f, story, result)
	for _, address := range []string{leading, following} {
		if result.Answered[address] < 3 {
			t.Errorf("the replica at %s answered about %d replacements: the case was not put to the test", address, result.Answered[address])
		}
	}
	f.Eventually(10*time.Second, "both replicas tell the same of every move", func(context.Context) bool {
		theirs, follows := f.Ledger(following)
		_, leads := f.Ledger(leading)
		return follows == leads && slices.Equal(landings(theirs), landings(moves))
	})
	t.Logf("the ledger was written %d times", status.Generation)
}

// A CronJob runs `evenkeel run` repeatedly, each time as a new process that remembers nothing,
// beside an `evenkeel extender`. The runs evict, and the extender sends every replacement to its
// planned node. A run may start before metrics-server has measured the effect of the previous run,
// but evicts no further pods because of that.
//
//e2e:tier all
func TestSkewJobs(t *testing.T) {
	for name, args := range map[string][]string{
		"the extender says that it was asked":   {"--extender-url", "http://" + stage.Listen()},
		"that it was asked is seen by landings": nil,
	} {
		t.Run(name, func(t *testing.T) { testSkewJobs(t, args) })
	}
}

func testSkewJobs(t *testing.T, args []string) {
	const pause, mostRuns = 2 * time.Second, 5
	fixed := stage.New(t)
	story, err := scenario.RequestSkew(t.Context(), fixed.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := fixed.WaitMetrics(t.Context()); err != nil { // a Job starts in a cluster that has been measured for a while
		t.Fatal(err)
	}
	answering := fixed.FreeAddress()
	f := begin(fixed, answering)
	policy := f.Policy(stage.RealUsage, stage.Impatient)
	extender := f.Start("extender", "--policy-config-file", policy, "--listen-address", answering, "--metrics-address", "0")
	if err := extender.WaitServing(t.Context(), "http://"+answering+"/livez"); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"--policy-config-file", policy, "--metrics-address", "0"}, args...)
	var evictions []int // of each run
	for idle := false; !idle; wait(t, pause) {
		if len(evictions) == mostRuns {
			t.Fatalf("after %d runs it is not over: %v evictions, %v are hot", mostRuns, evictions, f.Hot(t.Context(), evictLine))
		}
		before := f.Evictions(f.mark)
		f.runOnce(args)
		evicted := f.Evictions(f.mark) - before
		evictions = append(evictions, evicted)
		hot := f.Hot(t.Context(), evictLine)
		if len(hot) == 0 && f.cooled == 0 {
			f.cooled = time.Since(f.begun)
		}
		idle = evicted == 0 && len(hot) == 0
	}
	f.waitReady("hog", "web", "bg")
	moves, status := f.Ledger(answering)
	wantSkewCooled(f, story, f.judge(moves))
	for i := range moves {
		if moves[i].State == "Landed" && !moves[i].Asked {
			t.Errorf("%s: the extender does not know that it was asked", &moves[i])
		}
	}
	t.Logf("evictions of the runs: %v; the ledger was written %d times", evictions, status.Generation)
}

// runOnce runs one Job to its end.
func (f *fixture) runOnce(args []string) {
	f.T.Helper()
	ctx, cancel := context.WithTimeout(f.T.Context(), 90*time.Second)
	defer cancel()
	job := f.Start("run", args...)
	if code, err := job.Wait(ctx); err != nil || code != 0 {
		f.T.Fatalf("the Job ended with code %d, %v", code, err)
	}
}

// wantSkewCooled checks what must hold whichever processes share the work.
func wantSkewCooled(f *fixture, story *scenario.Story, result figures) {
	f.T.Helper()
	if result.Evictions < story.FewestEvictions || result.Evictions > story.FewestEvictions+1 {
		f.T.Errorf("%d evictions, want the fewest possible, %d, or one more", result.Evictions, story.FewestEvictions)
	}
	if result.OnPlan != result.Landed {
		f.T.Errorf("%d of %d replacements are on their planned node, want all: each of them stayed cool, and was in every request",
			result.OnPlan, result.Landed)
	}
	if hot := f.Hot(f.T.Context(), story.EvictLinePercent); len(hot) > 0 {
		f.T.Errorf("%v are above the line again", hot)
	}
}

// landings returns one line for each move that landed, in no particular order.
func landings(moves []stage.Move) (lines []string) {
	for i := range moves {
		if moves[i].State == "Landed" {
			lines = append(lines, moves[i].String())
		}
	}
	slices.Sort(lines)
	return lines
}
