package handshake

import (
	"context"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

const (
	// followers is the number of pods that arrive after the burst. Their groups are small and slow
	// enough for the taints to keep up.
	followers, followersAtATime = 48, 12
	followEvery                 = 15 * time.Second
	// calmer is by how many percentage points taints must lower both the usage of the highest node
	// and the spread. A pod is 1.9 points of a node, and without taints the followers add four pods
	// to the highest node.
	calmer = 3.0
)

// graded is stage.Fast with both taints and without moves, because no pod has the only allowed
// scheduler name.
var graded = strings.Replace(stage.Fast, "eviction: {", "eviction: {schedulerNames: [nobody], ", 1) +
	"nodesync: {taint: {enabled: true}, rejectTaint: {enabled: true}}\n"

// leveled describes how even the nodes are by true usage: the spread, and the highest usage of any
// node so far.
type leveled struct{ spread, highest float64 }

// kube-scheduler asks no extender during the same burst. Taints have no effect during the burst,
// because no node exceeds its reject line before it ends. Afterwards, the nodes that the burst
// filled are tainted, and later pods go elsewhere:
//
//	48 more × 600m, 4 a node or 7.5 points, raise the highest node from 64 % to 71 % without taints; all others have space up to 60 %
//
//e2e:tier all
//e2e:alone
func TestBurstWithGradedTaints(t *testing.T) {
	var nothing, taints leveled
	t.Run("nothing", func(t *testing.T) { nothing = burstAndFollowers(t, func(*fixture, string) {}, func(*fixture) {}) })
	t.Run("graded taints", func(t *testing.T) {
		taints = burstAndFollowers(t, (*fixture).startGrading, (*fixture).waitGraded)
	})
	if t.Failed() {
		return
	}
	t.Logf("figures: in the end nothing: spread %.1f, highest %.1f %%; graded taints: spread %.1f, highest %.1f %%",
		nothing.spread, nothing.highest, taints.spread, taints.highest)
	if taints.highest > nothing.highest-calmer || taints.spread > nothing.spread-calmer {
		t.Errorf("with taints the nodes are %.1f points apart and the highest was at %.1f %%, without %.1f and %.1f %%; want both %v less at least",
			taints.spread, taints.highest, nothing.spread, nothing.highest, calmer)
	}
}

// burstAndFollowers runs the burst and then the followers. It calls start before the burst, and
// settle between burst and followers.
func burstAndFollowers(t *testing.T, start func(f *fixture, serving string), settle func(*fixture)) leveled {
	fixed := newBurst(t, 15*time.Second)
	serving := fixed.FreeAddress()
	fixed.RestoreScheduler()
	if err := fixed.RestartScheduler(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := fixed.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	b := begin(fixed, serving)
	start(b, serving)
	b.come()
	burst := b.leveled()
	settle(b)
	for range followers / followersAtATime {
		b.arrive(followersAtATime)
		wait(t, followEvery)
	}
	last := b.leveled()
	t.Logf("figures: after the burst spread %.1f, highest %.1f %%; after %d more spread %.1f, highest %.1f %%; percent of CPU: %v",
		burst.spread, burst.highest, followers, last.spread, last.highest, b.truth())
	if n := b.Evictions(b.mark); n > 0 {
		t.Errorf("%d evictions, want none", n)
	}
	return last
}

func (f *fixture) leveled() leveled {
	f.T.Helper()
	highest := int64(0)
	for _, peak := range f.history.peaks() {
		highest = max(highest, peak)
	}
	return leveled{f.spreadOf(f.truth()), float64(highest) / 320} // of 32 cores
}

func (f *fixture) startGrading(serving string) {
	f.Component("nodesync")
	f.Serve(f.Policy(stage.RealUsage, graded), "--listen-address", serving)
	f.waitKnown()
}

// waitGraded waits until exactly the nodes that are clearly above their reject line have its taint.
func (f *fixture) waitGraded() {
	f.T.Helper()
	const clearly = 2.0 // percentage points, because the prediction for a pod may be slightly off
	truth := f.truth()
	above := 0
	for _, percent := range truth {
		if percent > rejectLine+clearly {
			above++
		}
	}
	if above == 0 {
		f.T.Fatalf("the burst left no node clearly above %v %%, so the case proves nothing: %v", rejectLine, truth)
	}
	f.Eventually(time.Minute, "a taint on the nodes above their reject line alone", func(ctx context.Context) bool {
		tainted := f.tainted(ctx)
		for node, percent := range truth {
			if percent > rejectLine+clearly && !tainted[node] || percent < rejectLine-clearly && tainted[node] {
				return false
			}
		}
		return true
	})
}

// tainted lists the nodes with the taint for usage above the reject line.
func (f *fixture) tainted(ctx context.Context) map[string]bool {
	f.T.Helper()
	nodes, err := f.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	tainted := map[string]bool{}
	for i := range nodes.Items {
		for _, taint := range nodes.Items[i].Spec.Taints {
			if taint.Key == "evenkeel.io/above-reject" && taint.Effect == v1.TaintEffectPreferNoSchedule {
				tainted[nodes.Items[i].Name] = true
			}
		}
	}
	return tainted
}
