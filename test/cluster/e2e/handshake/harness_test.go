package handshake

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// fixture is one case's cluster, with everything that is checked at the end.
type fixture struct {
	*stage.Fixture
	history  *history
	balancer *stage.Balancer
	mark     cluster.AuditMark
	begun    time.Time
	cooled   time.Duration
}

// begin starts watching once the workloads exist, and lets kube-scheduler ask through the balancer.
func begin(f *stage.Fixture, backends ...string) *fixture {
	f.T.Helper()
	return &fixture{Fixture: f, history: watch(f), balancer: f.Balance(backends...), mark: f.Mark(), begun: time.Now()}
}

// waitCool waits until no node is above the evict line by true usage.
func (f *fixture) waitCool(within time.Duration) {
	f.T.Helper()
	f.Eventually(within, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.Hot(ctx, evictLine)) == 0 })
	f.cooled = time.Since(f.begun)
}

// waitSettled waits until all pods of the Deployments run and the process has no move in flight. It
// then waits for more cycles, in which an overeager process would continue to evict.
func (f *fixture) waitSettled(listen, metrics string, cycles float64, deployments ...string) {
	f.T.Helper()
	f.waitReady(deployments...)
	f.Eventually(30*time.Second, "no move in flight", func(context.Context) bool {
		moves, _ := f.Ledger(listen)
		return !slices.ContainsFunc(moves, func(m stage.Move) bool { return m.InFlight() })
	})
	f.waitCycles(metrics, cycles)
}

// waitCycles waits for n more cycles.
func (f *fixture) waitCycles(metrics string, n float64) {
	f.T.Helper()
	done := func() float64 { return f.Metric(metrics, `evenkeel_cycles_total{result="success"}`) }
	first := done()
	f.Eventually(time.Minute, "more cycles", func(context.Context) bool { return done() >= first+n })
}

func (f *fixture) waitReady(deployments ...string) {
	f.T.Helper()
	ctx, cancel := context.WithTimeout(f.T.Context(), 30*time.Second)
	defer cancel()
	for _, deployment := range deployments {
		if err := f.WaitReady(ctx, "shop", deployment); err != nil {
			f.T.Fatal(err)
		}
	}
}

// leader returns the holder of Evenkeel's Lease, or "" if there is none.
func (f *fixture) leader(ctx context.Context) string {
	lease, err := f.Client().CoordinationV1().Leases(evenkeel.Namespace).Get(ctx, "evenkeel", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

const (
	evictLine  = 65.0
	rejectLine = 60.0
)

// figures summarize a case's moves.
type figures struct {
	Evictions, Landed, OnPlan, Rebooked, Cancelled, Boomerangs int
	// Answered counts the landed moves by the backend that answered kube-scheduler.
	Answered map[string]int
}

// judge compares the moves that a process reports with the API server's audit
// log, the pods and kube-scheduler's requests, and prints the figures.
func (f *fixture) judge(moves []stage.Move) figures {
	f.T.Helper()
	result := figures{Evictions: f.Evictions(f.mark), Answered: map[string]int{}}
	replaced, sources := map[string]string{}, map[string]bool{}
	for i := range moves {
		move := &moves[i]
		switch move.State {
		case "Cancelled":
			result.Cancelled++
			continue
		case "Landed":
			result.Landed++
		default:
			f.T.Errorf("not landed: %s", move)
			continue
		}
		sources[move.From] = true
		if other, twice := replaced[move.Replacement]; twice {
			f.T.Errorf("one pod replaces two: %s and %s", move, other)
		}
		replaced[move.Replacement] = move.Pod
		f.judgeLanding(move, &result)
	}
	result.Boomerangs = f.boomerangs(sources)
	if result.Landed != result.Evictions {
		f.T.Errorf("%d moves landed, the API server granted %d evictions", result.Landed, result.Evictions)
	}
	f.T.Logf("figures: evictions %d, on plan %d of %d, rebooked %d, cancelled %d, boomerangs %d, cool after %.1f s, last eviction after %.1f s; answered by %v",
		result.Evictions, result.OnPlan, result.Landed, result.Rebooked, result.Cancelled, result.Boomerangs,
		f.cooled.Seconds(), f.history.lastGone().Sub(f.begun).Seconds(), slices.Collect(maps.Values(result.Answered)))
	return result
}

// judgeLanding checks where a replacement landed. If kube-scheduler's request contained the planned
// node, it must have landed there, otherwise on the only node that was allowed instead.
func (f *fixture) judgeLanding(move *stage.Move, result *figures) {
	f.T.Helper()
	pod, known := f.history.pod(move.Replacement)
	answers := f.balancer.Answers(move.Replacement)
	if !known || len(answers) == 0 {
		f.T.Errorf("%s: the pod was seen: %v; kube-scheduler asked %d times about it", move, known, len(answers))
		return
	}
	last := answers[len(answers)-1]
	result.Answered[last.Backend]++
	told := len(last.Kept) == 1 && last.Kept[0] == pod.node
	switch {
	case !told || pod.node != move.Node:
		f.T.Errorf("%s: kube-scheduler was told %v by %s and bound the pod to %q", move, last.Kept, last.Backend, pod.node)
	case pod.node == move.To:
		result.OnPlan++
	case !slices.Contains(last.Asked, move.To):
		result.Rebooked++
	default:
		f.T.Errorf("%s: it was booked elsewhere, although kube-scheduler offered its planned node", move)
	}
}

// boomerangs counts the pods that arrived on a node after a pod of the same Deployment was moved
// off it.
func (f *fixture) boomerangs(sources map[string]bool) (n int) {
	for _, pod := range f.history.newcomers() {
		if sources[pod.node] && strings.HasPrefix(pod.name, "hog-") {
			f.T.Errorf("pod %s is on %s, which one was moved from", pod.name, pod.node)
			n++
		}
	}
	return n
}

// wait lets the cluster work on its own for a while.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-t.Context().Done():
		t.Fatal("the case was stopped")
	case <-timer.C:
	}
}
