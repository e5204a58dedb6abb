package e2e

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// topReport is the part of `top -o json` that these cases read.
type topReport struct {
	Kind  string
	Nodes []struct {
		Name, State, Now string
		CPU              struct{ UsedPercent float64 }
		Used             map[string]any
		Pods             int
	}
}

// hottest returns the first n nodes, sorted by name, and their states.
func (r *topReport) hottest(n int) (names, states, now []string) {
	for _, node := range r.Nodes[:min(n, len(r.Nodes))] {
		names, states, now = append(names, node.Name), append(states, node.State), append(now, node.Now)
	}
	slices.Sort(names)
	return names, states, now
}

// isTrue reports whether each node has its pods, and a usage within 3 percentage points of the
// truth.
func (r *topReport) isTrue(t *testing.T, truth map[string]cluster.NodeLoad) bool {
	t.Helper()
	same := len(r.Nodes) == len(truth)
	for _, node := range r.Nodes {
		want := truth[node.Name]
		if math.Abs(node.CPU.UsedPercent-want.CPUPercent) > 3 || node.Pods != want.Pods {
			t.Logf("%s uses %.1f%% with %d pods, the truth is %.1f%% with %d", node.Name, node.CPU.UsedPercent, node.Pods, want.CPUPercent, want.Pods)
			same = false
		}
	}
	return same
}

func readTop(t *testing.T, args ...string) (report topReport, took time.Duration) {
	t.Helper()
	got := stage.Run(t.Context(), t, t.TempDir(), append([]string{"top", "-o", "json"}, args...)...)
	if got.Code != 0 {
		t.Fatalf("top: exit code %d\n%s", got.Code, got.Stderr)
	}
	if err := json.Unmarshal([]byte(got.Stdout), &report); err != nil {
		t.Fatalf("top: %v in\n%s", err, got.Stdout)
	}
	return report, got.Took
}

// metrics-server keeps no history. After one reading of it, top lists the two overloaded nodes
// first, as hot now and with their real usage. A process that has observed them for longer calls
// them hot.
func TestTopAfterOneReading(t *testing.T) {
	f := newFixture(t)
	story, err := scenario.RequestSkew(t.Context(), f.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	access := []string{"--kubeconfig", f.Access.Evenkeel, "--namespace", evenkeel.Namespace}
	truth, err := f.NodeUsage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var report topReport
	var took time.Duration
	// If a busy machine delays a reading of metrics-server, it is a few percent off. The next one
	// may be right.
	f.Eventually(time.Minute, "one reading tells the truth of every node", func(context.Context) bool {
		report, took = readTop(t, access...)
		return report.isTrue(t, truth)
	})
	names, states, now := report.hottest(len(story.Hot))
	if diff := cmp.Diff(slices.Sorted(slices.Values(story.Hot)), names); diff != "" || report.Kind != "Top" {
		t.Errorf("the hottest nodes of a %q (-want +got):\n%s", report.Kind, diff)
	}
	if diff := cmp.Diff([][]string{{"unknown", "unknown"}, {"hot", "hot"}}, [][]string{states, now}); diff != "" {
		t.Errorf("their states, and those now (-want +got):\n%s", diff)
	}
	for _, node := range report.Nodes {
		if _, looked := node.Used["avg_5m"]; looked {
			t.Errorf("%s has a window of five minutes after one reading", node.Name)
		}
	}
	if took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	table := stage.Run(t.Context(), t, t.TempDir(), append([]string{"top"}, access...)...)
	if !strings.Contains(table.Stdout, "nodes: 2 hot now, ") || strings.Contains(table.Stdout, "have fresh usage") {
		t.Errorf("the table says:\n%s", table.Stdout)
	}

	f.watch(story)
	watched, _ := readTop(t, "--extender-url", stage.Reports())
	if _, states, _ = watched.hottest(len(story.Hot)); !slices.Equal(states, []string{"hot", "hot"}) {
		t.Errorf("a process that watches has the hottest as %q", states)
	}
}

// watch starts a process that evicts nothing, and waits until it calls the overloaded nodes hot.
func (f *fixture) watch(story *scenario.Story) {
	f.T.Helper()
	watcher := f.Start("extender", "--policy-config-file", f.Policy(stage.RealUsage, stage.Fast), "--listen-address", stage.Listen(), "--metrics-address", "0")
	if err := watcher.WaitServing(f.T.Context(), "http://"+stage.Listen()+"/livez"); err != nil {
		f.T.Fatal(err)
	}
	f.Eventually(time.Minute, "the nodes that burn are called hot", func(context.Context) bool { return f.Are("hot", story.Hot...) })
}
