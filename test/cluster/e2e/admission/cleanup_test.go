package admission

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// litter creates the state that a process leaves behind if it is killed in the middle of its work
// and never replaced: two of three pods are held, and a node is marked. It returns the marked node.
func litter(t *testing.T, f *stage.Fixture, o ours) (node string) {
	t.Helper()
	nodes, err := f.AddNodes(t.Context(), 1, cluster.NodeTemplate{CPU: "8", Memory: "16Gi"})
	if err != nil {
		t.Fatal(err)
	}
	web := stage.Workload("web", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "100m", Memory: "64Mi"})
	web.Replicas = 1
	if err := f.Deploy(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	sets, err := f.Client().AppsV1().ReplicaSets("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(sets.Items) != 1 {
		t.Fatalf("%d ReplicaSets, %v", len(sets.Items), err)
	}
	if err := o.steer(t.Context(), "shop", map[string]any{string(sets.Items[0].UID): key(time.Now().Add(10*time.Minute), "Gate", nodes[0])}); err != nil {
		t.Fatal(err)
	}
	steered(t, f, o)
	scale(t, f, 3)
	f.Eventually(30*time.Second, "two pods that are held", func(ctx context.Context) bool { return len(heldPods(ctx, f)) == 2 })
	mark := `{"metadata":{"labels":{"status":"presure"},"annotations":{"evenkeel.io/nodesync":"{\"labels\":{\"status\":\"presure\"},` +
		`\"taints\":{\"evenkeel.io/above-reject\":\"true\",\"evenkeel.io/hot\":\"true\"}}"}},"spec":{"taints":[` +
		`{"key":"evenkeel.io/above-reject","value":"true","effect":"PreferNoSchedule"},{"key":"evenkeel.io/hot","value":"true","effect":"PreferNoSchedule"}]}}`
	if _, err := f.Client().CoreV1().Nodes().Patch(t.Context(), nodes[0], types.StrategicMergePatchType, []byte(mark), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	moves := ledger.New(ledger.Config{})
	moves.Record(time.Now(), ledger.Intent{Namespace: "shop", Pod: "web-1", PodUID: "uid-web-1", From: nodes[0], To: "cool", TTL: time.Minute})
	document := moves.Export()
	document.Generation, document.Writer, document.Written = 1, "a process that was killed", time.Now()
	packed, err := document.Encode()
	if err != nil {
		t.Fatal(err)
	}
	stored := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "evenkeel-ledger"}, BinaryData: map[string][]byte{"ledger.json.gz": packed}}
	if _, err := f.Client().CoreV1().ConfigMaps(evenkeel.Namespace).Create(t.Context(), stored, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return nodes[0]
}

func scale(t *testing.T, f *stage.Fixture, replicas int32) {
	t.Helper()
	to := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	if _, err := f.Client().AppsV1().Deployments("shop").UpdateScale(t.Context(), "web", to, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func heldPods(ctx context.Context, f *stage.Fixture) (names []string) {
	for _, pod := range f.PodsByUID(ctx) {
		for _, g := range pod.Spec.SchedulingGates {
			if g.Name == gate {
				names = append(names, pod.Name)
			}
		}
	}
	return names
}

// cleans runs cleanup as an administrator would, and returns how many objects of each kind it
// reports as cleaned up.
func cleans(t *testing.T, f *stage.Fixture, args ...string) map[string]int {
	t.Helper()
	args = append([]string{"cleanup", "-o", "json", "--kubeconfig", f.Kubeconfig(), "--namespace", evenkeel.Namespace}, args...)
	got := stage.Run(t.Context(), t, t.TempDir(), args...)
	var report struct {
		Done, Left []struct{ Kind, Name, Says string }
	}
	if err := json.Unmarshal([]byte(got.Stdout), &report); err != nil || got.Code != 0 || len(report.Left) > 0 {
		t.Fatalf("%q: exit code %d, %v:\n%s\n%s", args, got.Code, err, got.Stdout, got.Stderr)
	}
	t.Logf("%q took %v", args, got.Took)
	kinds := map[string]int{}
	for _, done := range report.Done {
		kinds[done.Kind]++
	}
	return kinds
}

// examined returns doctor's findings about steering.
func examined(t *testing.T, f *stage.Fixture) (lines []string) {
	t.Helper()
	policy := f.Policy(stage.RealUsage, byAPIServer)
	got := stage.Run(t.Context(), t, t.TempDir(), "doctor", "-o", "json", "--mode", "run", "--policy-config-file", policy,
		"--kubeconfig", f.Kubeconfig(), "--namespace", evenkeel.Namespace)
	var report struct {
		Findings []struct{ Check, Level, Subject, Says string }
	}
	if err := json.Unmarshal([]byte(got.Stdout), &report); err != nil {
		t.Fatalf("%v:\n%s\n%s", err, got.Stdout, got.Stderr)
	}
	for _, finding := range report.Findings {
		if finding.Check == "steering" {
			lines = append(lines, strings.TrimSpace(finding.Level+" "+finding.Subject)+": "+finding.Says)
		}
	}
	return lines
}

// In a cluster in which Evenkeel no longer runs, doctor finds what Evenkeel left and cleanup
// removes it: held pods continue, and a second run finds nothing to do.
//
//e2e:tier all
func TestCleanupLeavesNothing(t *testing.T) {
	f := stage.New(t)
	o := install(t, f, "admission-steering")
	well := []string{"ok: The API server (v1.36.3) holds replacements with a gate until their planned node is nominated."}
	if diff := cmp.Diff(well, examined(t, f)); diff != "" {
		t.Errorf("doctor, before (-want +got):\n%s", diff)
	}
	node := litter(t, f, o)
	all := map[string]int{"Steering": 2, "Pod": 2, "Nodes": 1, "ConfigMap": 1}
	if diff := cmp.Diff(all, cleans(t, f, "--dry-run", "--ledger")); diff != "" {
		t.Errorf("a dry run (-want +got):\n%s", diff)
	}
	f.Eventually(time.Minute, "doctor to find the held pods", func(ctx context.Context) bool {
		found := strings.Join(examined(t, f), "\n")
		return len(heldPods(ctx, f)) == 2 && strings.Contains(found, "problem pods: 2 pods are held by the gate") && strings.Contains(found, " open in ")
	})
	if diff := cmp.Diff(all, cleans(t, f, "--ledger")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f.Eventually(30*time.Second, "all three pods to run, none of them held", func(ctx context.Context) bool {
		pods := f.Pods(ctx, "web")
		waits := func(pod v1.Pod) bool { return pod.Spec.NodeName != node }
		return len(pods) == 3 && !slices.ContainsFunc(pods, waits)
	})
	marked, err := f.Client().CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, taint := range marked.Spec.Taints {
		if strings.HasPrefix(taint.Key, "evenkeel.io/") {
			t.Errorf("taint %v is left", taint)
		}
	}
	if marked.Labels["status"] != "" || marked.Annotations["evenkeel.io/nodesync"] != "" {
		t.Errorf("left on the node: %v %v", marked.Labels, marked.Annotations)
	}
	if diff := cmp.Diff(map[string]int{}, cleans(t, f, "--ledger")); diff != "" {
		t.Errorf("again (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(well, examined(t, f)); diff != "" {
		t.Errorf("doctor, after (-want +got):\n%s", diff)
	}
}
