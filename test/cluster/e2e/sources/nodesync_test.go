package sources

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

const evenkeelUser = "system:serviceaccount:" + evenkeel.Namespace + ":evenkeel"

// unmovable is stage.Fast with a scheduler name that no pod has, so that no pod can be moved and
// hot nodes stay hot.
var unmovable = strings.Replace(stage.Fast, "eviction: {", "eviction: {schedulerNames: [nobody], ", 1)

const (
	foreignKey, foreignValue = "status", "retired"
	hotTaint, rejectTaint    = "evenkeel.io/hot", "evenkeel.io/above-reject"
)

// marks enables the label and the taint, grades both taints, and figures the annotations, which are
// renewed every ten seconds.
const (
	marks   = "nodesync: {label: {enabled: true}, taint: {enabled: true}}\n"
	grades  = "nodesync: {taint: {enabled: true}, rejectTaint: {enabled: true}}\n"
	figures = "nodesync: {annotations: {enabled: true, windows: [avg_5m], periods: {avg_5m: 10s}}}\n"
)

// A node gets the label and the taint when it becomes hot, and loses them when it cools. Its
// annotations are true. Nothing is patched while nothing changes, and values that somebody else
// wrote stay.
func TestNodeSync(t *testing.T) {
	f := stage.New(t)
	f.Component("nodesync")
	skew := f.Skew()
	foreign := skew.Hot[1]
	patchNode(t, f, foreign, map[string]any{"metadata": map[string]any{"labels": map[string]string{foreignKey: foreignValue}}})
	ours := skew.Hot[0]

	p := f.Serve(f.Policy(stage.RealUsage, unmovable+marks))
	f.Eventually(90*time.Second, "the label and the taint on hot nodes", func(ctx context.Context) bool {
		return marked(ctx, f, ours) == "label taint" && marked(ctx, f, foreign) == "taint"
	})
	for _, node := range skew.Nodes[2:] {
		if got := marked(t.Context(), f, node); got != "" {
			t.Errorf("the cool node %s has %s", node, got)
		}
	}

	mark := f.Mark()
	wait(t, 30*time.Second)
	if n := patches(f, mark); n != 0 {
		t.Errorf("%d patches of nodes in 30 s without a change", n)
	}

	if _, err := scenario.Spike(t.Context(), f.Cluster, "shop", "hog", 0.2); err != nil {
		t.Fatal(err)
	}
	f.Eventually(6*time.Minute, "neither label nor taint on cooled nodes", func(ctx context.Context) bool {
		return marked(ctx, f, ours) == "" && marked(ctx, f, foreign) == ""
	})
	if n := patches(f, mark); n != 2 {
		t.Errorf("%d patches to clear two nodes, want 2", n)
	}
	checkForeign(t, f, foreign)
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}

	p = f.Serve(f.Policy(stage.RealUsage, unmovable+figures))
	f.Eventually(90*time.Second, "annotations that other readers understand on every node", func(ctx context.Context) bool {
		return annotated(ctx, f) == len(skew.Nodes)
	})
	checkTop(t, f, "usage: {sources: [{type: Annotations}]}\n")
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	removed := stage.Run(t.Context(), t, t.TempDir(), "nodesync", "--remove", "--kubeconfig", f.Access.Evenkeel)
	if removed.Code != 0 || annotated(t.Context(), f) != 0 {
		t.Errorf("nodesync --remove: exit code %d, %d nodes still annotated\n%s%s", removed.Code, annotated(t.Context(), f), removed.Stdout, removed.Stderr)
	}
	checkForeign(t, f, foreign)
}

// A node above its reject line has one taint, and a hot node two. A node that cools loses them, and
// nodesync --remove removes all of them.
//
//	hot:    12 hog  × 2200m = 26.4 of 32 cores = 82.5 %, above evict (65 %)
//	filled:  9 warm × 2200m = 19.8 of 32 cores = 61.9 %, above reject (60 %)
//	others:  1 idle × 2200m =  2.2 of 32 cores =  6.9 %
//
//e2e:tier all
func TestGradedTaints(t *testing.T) {
	f := stage.New(t)
	f.Component("nodesync")
	nodes, err := f.AddNodes(t.Context(), 4, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	hot, filled, others := nodes[0], nodes[1], nodes[2:]
	workload := func(name string) cluster.Workload {
		return stage.Workload(name, cluster.Resources{CPU: "250m", Memory: "128Mi"}, cluster.Resources{CPU: "2200m", Memory: "256Mi"})
	}
	err = f.Place(t.Context(),
		cluster.Placement{Workload: workload("hog"), On: stage.On(12, hot)},
		cluster.Placement{Workload: workload("warm"), On: stage.On(9, filled)},
		cluster.Placement{Workload: workload("idle"), On: stage.On(1, others...)})
	if err != nil {
		t.Fatal(err)
	}
	p := f.Serve(f.Policy(stage.RealUsage, unmovable+grades))
	f.Eventually(90*time.Second, "one taint above reject and two above evict", func(ctx context.Context) bool {
		return marked(ctx, f, hot) == "one more taint" && marked(ctx, f, filled) == "one more"
	})
	mark := f.Mark()
	wait(t, 20*time.Second)
	if n := patches(f, mark); n != 0 {
		t.Errorf("%d patches of nodes in 20 s without a change", n)
	}
	for _, node := range others {
		if got := marked(t.Context(), f, node); got != "" {
			t.Errorf("the cool node %s has %s", node, got)
		}
	}
	if _, err := scenario.Spike(t.Context(), f.Cluster, "shop", "warm", 0.2); err != nil {
		t.Fatal(err)
	}
	f.Eventually(6*time.Minute, "no taint on the node that cooled", func(ctx context.Context) bool { return marked(ctx, f, filled) == "" })
	if got := marked(t.Context(), f, hot); got != "one more taint" {
		t.Errorf("the hot node has %q", got)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	removed := stage.Run(t.Context(), t, t.TempDir(), "nodesync", "--remove", "--kubeconfig", f.Access.Evenkeel)
	if got := marked(t.Context(), f, hot); removed.Code != 0 || got != "" {
		t.Errorf("nodesync --remove: exit code %d, the hot node has %q\n%s%s", removed.Code, got, removed.Stdout, removed.Stderr)
	}
}

func patchNode(t *testing.T, f *stage.Fixture, node string, patch any) {
	t.Helper()
	body, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Client().CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func nodeOf(ctx context.Context, f *stage.Fixture, name string) *v1.Node {
	f.T.Helper()
	node, err := f.Client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	return node
}

// marked returns which of the marks a node has.
func marked(ctx context.Context, f *stage.Fixture, name string) string {
	f.T.Helper()
	node := nodeOf(ctx, f, name)
	var marks []string
	if node.Labels["status"] == "presure" {
		marks = append(marks, "label")
	}
	for _, taint := range node.Spec.Taints {
		if taint.Effect != v1.TaintEffectPreferNoSchedule {
			continue
		}
		switch taint.Key {
		case hotTaint:
			marks = append(marks, "taint")
		case rejectTaint:
			marks = append(marks, "one more")
		}
	}
	slices.Sort(marks)
	return strings.Join(marks, " ")
}

func checkForeign(t *testing.T, f *stage.Fixture, name string) {
	t.Helper()
	if got := nodeOf(t.Context(), f, name).Labels[foreignKey]; got != foreignValue {
		t.Errorf("another writer's label %s on %s is %q, want %q", foreignKey, name, got, foreignValue)
	}
}

// patches counts the patches of nodes that Evenkeel has made since the mark.
func patches(f *stage.Fixture, since cluster.AuditMark) int {
	f.T.Helper()
	requests, err := f.Audit(since)
	if err != nil {
		f.T.Fatal(err)
	}
	if len(requests) == 0 {
		f.T.Fatal("the audit log is empty: the case proves nothing")
	}
	return len(requests.By(evenkeelUser).To("patch", "nodes"))
}

// annotated counts the nodes whose annotations contain the node's true usage in Crane's format.
func annotated(ctx context.Context, f *stage.Fixture) int {
	f.T.Helper()
	truth, err := f.NodeUsage(ctx)
	if err != nil {
		f.T.Fatal(err)
	}
	n := 0
	for name, used := range truth {
		var fraction float64
		var stamp string
		text := strings.Replace(nodeOf(ctx, f, name).Annotations["cpu_usage_avg_5m"], ",", " ", 1)
		if _, err := fmt.Sscanf(text, "%f %s", &fraction, &stamp); err != nil {
			continue
		}
		measured, err := time.Parse("2006-01-02T15:04:05Z", stamp)
		if err == nil && time.Since(measured) < time.Minute && near(100*fraction, used.CPUPercent) {
			n++
		}
	}
	return n
}

// near allows for the difference between two samples.
func near(a, b float64) bool { return a-b < 3 && b-a < 3 }

// checkTop checks that `evenkeel top`, with the given sources, reports the true usage of every
// node.
func checkTop(t *testing.T, f *stage.Fixture, load string) {
	t.Helper()
	policy := f.Policy("apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n" + load)
	got := stage.Run(t.Context(), t, t.TempDir(), "top", "-o", "json", "--kubeconfig", f.Access.Evenkeel, "--policy-config-file", policy)
	if got.Code != 0 {
		t.Fatalf("top: exit code %d\n%s", got.Code, got.Stderr)
	}
	var report struct {
		Nodes []struct {
			Name, State, Source string
			Used                map[string]struct{ CPU, Memory float64 }
		}
	}
	if err := json.Unmarshal([]byte(got.Stdout), &report); err != nil {
		t.Fatalf("top: %v in\n%s", err, got.Stdout)
	}
	truth, err := f.NodeUsage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Nodes) != len(truth) {
		t.Errorf("top lists %d nodes, want %d", len(report.Nodes), len(truth))
	}
	for _, node := range report.Nodes {
		if cpu := node.Used["avg_5m"].CPU; node.State == "unknown" || !near(cpu, truth[node.Name].CPUPercent) {
			t.Errorf("top shows %s: %s, %.1f %% of its cpu by %s, the truth is %.1f %%", node.Name, node.State, cpu, node.Source, truth[node.Name].CPUPercent)
		}
	}
}
