package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// Two nodes are above 65 % of memory because of pods that request little. They are cooled with at
// most one eviction more than necessary, and no pod goes back.
//
//	hot node: 12 × 15 GiB + 6 × 1 GiB = 186 of 256 GiB = 72.7 %; under 65 % (166.4 GiB) takes two pods of 15 GiB from each.
func TestMemoryHotIsCooled(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 6, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	hot := nodes[:2]
	err = f.Place(t.Context(),
		cluster.Placement{
			Workload: stage.Workload("cache", cluster.Resources{CPU: "100m", Memory: "1Gi"}, cluster.Resources{CPU: "200m", Memory: "15Gi"}),
			On:       stage.On(12, hot...),
		},
		cluster.Placement{
			Workload: stage.Workload("web", cluster.Resources{CPU: "1", Memory: "4Gi"}, cluster.Resources{CPU: "200m", Memory: "1Gi"}),
			On:       stage.On(6, nodes...),
		})
	if err != nil {
		t.Fatal(err)
	}
	mark := f.Mark()
	metrics := f.FreeAddress()
	serve := f.Serve(f.Policy(stage.RealUsage, stage.Fast), "--metrics-address", metrics)
	f.flood(stage.Listen()) // strangers send requests throughout, without any effect
	f.Eventually(2*time.Minute, "no node above 65 % of memory", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	const fewest = 4
	if got := f.Evictions(mark); got > fewest+1 {
		t.Errorf("%d evictions, the fewest possible are %d", got, fewest)
	}
	f.Eventually(20*time.Second, "every replacement bound and ready", func(ctx context.Context) bool {
		return f.WaitReady(ctx, "shop", "cache") == nil
	})
	onHot := 0
	for _, pod := range f.Pods(t.Context(), "cache") {
		if slices.Contains(hot, pod.Spec.NodeName) {
			onHot++
		}
	}
	if want := 24 - f.Evictions(mark); onHot != want {
		t.Errorf("%d pods are on the nodes that were hot, want %d: a replacement went back", onHot, want)
	}
	f.checkFlooded(serve, metrics)
	t.Logf("evictions %d, fewest %d", f.Evictions(mark), fewest)
}

// This is the case that requests hide: on its own, kube-scheduler would send every evicted pod, and
// every new one, straight to the two overloaded nodes.
//
// The shipped Deployment is in the middle of an upgrade when it answers. At first, kube-scheduler
// asks over plain HTTP, then over mutual TLS with the shipped entry. All certificates are renewed
// while it asks.
func TestRequestSkewIsCooled(t *testing.T) {
	f := newFixture(t)
	f.RestoreScheduler()
	story, err := scenario.RequestSkew(t.Context(), f.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	// For a while, a mean that starts while pods are still arriving is below the truth on one node
	// but not on the other.
	if err := f.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := f.PodsByUID(t.Context())
	mark := f.Mark()
	asShipped := strings.Replace(stage.Fast, "maxMovesPerHourOfOwner: 0, ", "", 1) // an owner's hourly moves suffice
	secure := f.serveShipped(f.Policy(stage.RealUsage, asShipped))
	metrics := secure.metrics
	f.Eventually(time.Minute, "the nodes that burn are called hot", func(context.Context) bool { return f.Are("hot", story.Hot...) })
	f.checkBecameHot(story.Hot)
	f.upgrade(secure)
	newcomers := stage.Workload("new", cluster.Resources{CPU: "250m"}, cluster.Resources{CPU: "100m"})
	newcomers.Replicas = 6
	if err := f.Deploy(t.Context(), newcomers); err != nil {
		t.Fatal(err)
	}
	f.renew(secure)
	f.Eventually(2*time.Minute, "no node above its line", func(ctx context.Context) bool {
		return len(f.Hot(ctx, story.EvictLinePercent)) == 0
	})
	f.waitCycles(metrics, 3)
	f.Eventually(20*time.Second, "every pod ready", func(ctx context.Context) bool {
		return f.WaitReady(ctx, "shop", "hog") == nil && f.WaitReady(ctx, "shop", "web") == nil && f.WaitReady(ctx, "shop", "bg") == nil
	})

	evictions := f.Evictions(mark)
	if evictions > story.FewestEvictions+1 {
		t.Errorf("%d evictions, the fewest possible are %d", evictions, story.FewestEvictions)
	}
	if hot := f.Hot(t.Context(), story.EvictLinePercent); len(hot) > 0 {
		t.Errorf("%v are above the line again", hot)
	}
	if asked, err := f.ExtenderScored(t.Context()); err != nil || !asked {
		t.Errorf("kube-scheduler's metrics say that it asked the extender: %v, %v", asked, err)
	}
	after := f.PodsByUID(t.Context())
	checkLandings(t, story, f.Moves(), before, after, evictions)
	for _, pod := range after {
		if strings.HasPrefix(pod.Name, "new-") && slices.Contains(story.Hot, pod.Spec.NodeName) {
			t.Errorf("the new pod %s is on the hot node %s", pod.Name, pod.Spec.NodeName)
		}
	}
	f.checkEvents(before, evictions)
	f.checkHistory(secure.Process, before, evictions)
	f.checkNoFailures(secure)
}

// checkLandings compares the replacements in the API server with the moves in Evenkeel's ledger.
func checkLandings(t *testing.T, story *scenario.Story, moves []stage.Move, before, after map[string]v1.Pod, evictions int) {
	t.Helper()
	if len(moves) != evictions {
		t.Errorf("the ledger has %d moves, the API server granted %d evictions", len(moves), evictions)
	}
	taken, exact := map[string]bool{}, 0
	for _, move := range moves {
		replacement, ok := after[move.Replacement]
		node := replacement.Spec.NodeName
		taken[move.Replacement] = true
		switch {
		case move.State != "Landed" || !ok:
			t.Errorf("move of %s: %s, its replacement %q is there: %v", move.Pod, move.State, move.Replacement, ok)
		case !move.Asked:
			t.Errorf("move of %s: kube-scheduler did not ask about its replacement", move.Pod)
		case slices.Contains(story.Hot, node):
			t.Errorf("move of %s: its replacement went back to the hot node %s", move.Pod, node)
		case node == move.To:
			exact++
		}
	}
	t.Logf("evictions %d, fewest %d; %d of %d replacements on their planned node", evictions, story.FewestEvictions, exact, len(moves))
	for uid, pod := range after {
		if _, old := before[uid]; !old && !taken[uid] && !strings.HasPrefix(pod.Name, "new-") {
			t.Errorf("pod %s replaced another one without a move", pod.Name)
		}
	}
}

// checkBecameHot checks that there is an Event with figures about every hot node.
func (f *fixture) checkBecameHot(hot []string) {
	f.T.Helper()
	f.Eventually(20*time.Second, "an Event on every hot node", func(ctx context.Context) bool {
		events, err := f.Client().EventsV1().Events(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil {
			f.T.Fatal(err)
		}
		told := map[string]bool{}
		for i := range events.Items {
			if event := &events.Items[i]; event.Reason == "BecameHot" && strings.Contains(event.Note, "% evict line") {
				told[event.Regarding.Name] = true
			}
		}
		return !slices.ContainsFunc(hot, func(node string) bool { return !told[node] })
	})
}

// checkEvents checks that every evicted pod has exactly one Event of Evenkeel, with figures.
func (f *fixture) checkEvents(before map[string]v1.Pod, evictions int) {
	f.T.Helper()
	f.Eventually(20*time.Second, "an Event on every evicted pod", func(ctx context.Context) bool {
		events, err := f.Client().EventsV1().Events("shop").List(ctx, metav1.ListOptions{})
		if err != nil {
			f.T.Fatal(err)
		}
		told := map[string]bool{}
		for i := range events.Items {
			event := &events.Items[i]
			if event.ReportingController != "evenkeel" {
				continue
			}
			uid := string(event.Regarding.UID)
			_, known := before[uid]
			if !known || told[uid] || event.Reason != "EvictedFromHotNode" || !numbersOfAMove.MatchString(event.Note) {
				f.T.Fatalf("Event %s on %s (known before: %v, one already: %v): %q", event.Reason, event.Regarding.Name, known, told[uid], event.Note)
			}
			told[uid] = true
		}
		return len(told) == evictions
	})
}
