package admission

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster/names"
	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// byAPIServer is stage.Fast with steering by the API server.
var byAPIServer = strings.Replace(stage.Fast, "eviction: {", "eviction: {steering: admission, ", 1)

// unasked is a cluster with a default kube-scheduler and a shipped component.
func unasked(t *testing.T, component string) (*stage.Fixture, ours) {
	t.Helper()
	f := stage.New(t)
	f.RestoreScheduler()
	if err := f.RestartScheduler(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f, install(t, f, component)
}

// nobodyAsks is the request-skew story with a default kube-scheduler and a
// shipped component.
func nobodyAsks(t *testing.T, component string) (*stage.Fixture, ours, *scenario.Story) {
	t.Helper()
	f, o := unasked(t, component)
	story, err := scenario.RequestSkew(t.Context(), f.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f, o, story
}

// cooled waits until no node is hot, no pod is held and no key is left.
func cooled(t *testing.T, f *stage.Fixture, o ours, story *scenario.Story) {
	t.Helper()
	f.Eventually(2*time.Minute, "no node above its line", func(ctx context.Context) bool {
		return len(f.Hot(ctx, story.EvictLinePercent)) == 0
	})
	f.Eventually(20*time.Second, "no pod held and no key left", func(ctx context.Context) bool { return nothingLeft(ctx, f, o) })
}

// nothingLeft reports whether no pod is held or pending and no key is left.
func nothingLeft(ctx context.Context, f *stage.Fixture, o ours) bool {
	list, err := o.keys.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) > 0 {
		return false
	}
	for _, pod := range f.PodsByUID(ctx) {
		if len(pod.Spec.SchedulingGates) > 0 || pod.Spec.NodeName == "" {
			return false
		}
	}
	return true
}

// kube-scheduler asks no extender, and every replacement lands on its planned node.
//
//e2e:tier all
func TestSkewWithoutExtender(t *testing.T) { exactly(t, serveOn) }

// TestRunWithoutExtender is like TestSkewWithoutExtender, with a Deployment that only evicts.
//
//e2e:tier all
func TestRunWithoutExtender(t *testing.T) { exactly(t, runOn) }

// If Evenkeel has no permissions on pods, the API server restricts replacements to their planned
// nodes and alternates, none of which is hot.
//
//e2e:tier all
func TestSkewByNames(t *testing.T) { restricted(t, "admission-steering-names", serveOn) }

// TestRunByNames is like TestSkewByNames, with a Deployment that only evicts.
//
//e2e:tier all
func TestRunByNames(t *testing.T) { restricted(t, "admission-steering-names", runOn) }

// A Job ends before its replacements are ready, so it cannot hold them. They are restricted to
// nodes by name, whatever permissions on pods the Job has.
//
//e2e:tier all
func TestJobsWithoutExtender(t *testing.T) { restricted(t, "admission-steering", runJobs) }

// TestJobsByNames is like TestJobsWithoutExtender, without permissions on pods.
//
//e2e:tier all
func TestJobsByNames(t *testing.T) { restricted(t, "admission-steering-names", runJobs) }

// exactly evens out request-skew with gates, running Evenkeel in the given way. Every replacement
// must land on its planned node.
func exactly(t *testing.T, run func(*stage.Fixture, *scenario.Story)) {
	t.Helper()
	f, o, story := nobodyAsks(t, "admission-steering")
	mark := f.Mark()
	run(f, story)
	cooled(t, f, o, story)
	onPlan(t, f, story, mark)
}

// restricted evens out request-skew with names. Every replacement must land on one of the nodes in
// its key.
func restricted(t *testing.T, component string, run func(*stage.Fixture, *scenario.Story)) {
	t.Helper()
	f, o, story := nobodyAsks(t, component)
	before, mark := f.PodsByUID(t.Context()), f.Mark()
	run(f, story)
	cooled(t, f, o, story)
	byNames(t, f, story, before, mark)
}

// serveOn starts `evenkeel serve` until the case ends.
func serveOn(f *stage.Fixture, _ *scenario.Story) {
	f.T.Helper()
	f.Serve(f.Policy(stage.RealUsage, byAPIServer))
}

// runOn starts `evenkeel run` in cycles until the case ends.
func runOn(f *stage.Fixture, _ *scenario.Story) {
	f.T.Helper()
	f.Start("run", "--policy-config-file", f.Policy(stage.RealUsage, byAPIServer), "--descheduling-interval", "3s",
		"--leader-elect=false", "--metrics-address", "0")
}

// runJobs runs one Job after another, as a CronJob would, until no node is hot.
func runJobs(f *stage.Fixture, story *scenario.Story) {
	f.T.Helper()
	policy := f.Policy(stage.RealUsage, byAPIServer)
	for runs := 0; len(f.Hot(f.T.Context(), story.EvictLinePercent)) > 0; runs++ {
		if runs == 5 {
			f.T.Fatalf("after %d runs %v are hot", runs, f.Hot(f.T.Context(), story.EvictLinePercent))
		}
		job := f.Start("run", "--policy-config-file", policy, "--metrics-address", "0")
		ctx, cancel := context.WithTimeout(f.T.Context(), 2*time.Minute)
		code, err := job.Wait(ctx)
		cancel()
		if err != nil || code != 0 {
			f.T.Fatalf("the Job ended with code %d, %v", code, err)
		}
	}
}

// onPlan waits for the last landing and checks that each replacement is on its planned node.
func onPlan(t *testing.T, f *stage.Fixture, story *scenario.Story, since cluster.AuditMark) {
	t.Helper()
	var moves []stage.DocumentMove
	f.Eventually(30*time.Second, "no move in flight", func(ctx context.Context) bool {
		moves = stored(ctx, t, f)
		return !slices.ContainsFunc(moves, func(m stage.DocumentMove) bool { return m.InFlight() })
	})
	evictions, exact := f.Evictions(since), 0
	after := f.PodsByUID(t.Context())
	for _, move := range moves {
		on := after[move.Replacement].Spec.NodeName
		switch {
		case move.State == "Cancelled": // planned but not made
		case move.State != "Landed" || on != move.To:
			t.Errorf("%s was to go to %s, is %s, and its replacement on %q", move.Pod, move.To, move.State, on)
		default:
			exact++
		}
	}
	if evictions > story.FewestEvictions+1 || exact != evictions {
		t.Errorf("%d evictions, want %d or one more; %d of the replacements are on their planned nodes, want all", evictions, story.FewestEvictions, exact)
	}
	t.Logf("figures: evictions %d, fewest %d; on plan %d", evictions, story.FewestEvictions, exact)
}

// stored returns the moves of the stored ledger.
func stored(ctx context.Context, t *testing.T, f *stage.Fixture) []stage.DocumentMove {
	t.Helper()
	object, err := f.Client().CoreV1().ConfigMaps(evenkeel.Namespace).Get(ctx, stage.LedgerName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	document, err := stage.ReadDocument(object)
	if err != nil {
		t.Fatal(err)
	}
	return document.Moves
}

// byNames checks that each new pod is on one of the nodes to which its key restricted it, and that
// none of these was hot.
func byNames(t *testing.T, f *stage.Fixture, story *scenario.Story, before map[string]corev1.Pod, since cluster.AuditMark) {
	t.Helper()
	evictions, came, first := f.Evictions(since), 0, 0
	for uid, pod := range f.PodsByUID(t.Context()) {
		if _, old := before[uid]; old {
			continue
		}
		came++
		nodes := names.Of(&pod)
		if !slices.Contains(nodes, pod.Spec.NodeName) || slices.Contains(story.Hot, pod.Spec.NodeName) {
			t.Errorf("the replacement %s is on %s, of %v; hot were %v", pod.Name, pod.Spec.NodeName, nodes, story.Hot)
			continue
		}
		if nodes[0] == pod.Spec.NodeName {
			first++
		}
	}
	if came != evictions || evictions > story.FewestEvictions+1 {
		t.Errorf("%d evictions, want %d or one more, and %d new pods", evictions, story.FewestEvictions, came)
	}
	t.Logf("figures: evictions %d, fewest %d; %d on their planned nodes, the others on alternates", evictions, story.FewestEvictions, first)
}
