package earlier

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/exporters"
)

// craneShipped is the policy that Crane ships, with two parameters for the limits, which can then
// be given with a unit. Its hot value lasts at least as long as a slow case.
const craneShipped = `apiVersion: scheduler.policy.crane.io/v1alpha1
kind: DynamicSchedulerPolicy
spec:
  syncPolicy:
    - {name: cpu_usage_avg_5m, period: 3m}
    - {name: cpu_usage_max_avg_1h, period: 15m}
    - {name: cpu_usage_max_avg_1d, period: 3h}
    - {name: mem_usage_avg_5m, period: 3m}
    - {name: mem_usage_max_avg_1h, period: 15m}
    - {name: mem_usage_max_avg_1d, period: 3h}
  predicate:
    - {name: cpu_usage_avg_5m, maxLimitPecent: %[1]s}
    - {name: cpu_usage_max_avg_1h, maxLimitPecent: %[2]s}
    - {name: mem_usage_avg_5m, maxLimitPecent: %[1]s}
    - {name: mem_usage_max_avg_1h, maxLimitPecent: %[2]s}
  priority:
    - {name: cpu_usage_avg_5m, weight: 0.2}
    - {name: cpu_usage_max_avg_1h, weight: 0.3}
    - {name: cpu_usage_max_avg_1d, weight: 0.5}
    - {name: mem_usage_avg_5m, weight: 0.2}
    - {name: mem_usage_max_avg_1h, weight: 0.3}
    - {name: mem_usage_max_avg_1d, weight: 0.5}
  hotValue:
    - {timeRange: 30m, count: 3}
`

// craneWindows are the windows of an annotated node's values, in order.
var craneWindows = []string{"avg_5m", "max_avg_1h", "max_avg_1d"}

// craneNode holds what Crane's controller has written about a node, in percent: CPU and memory,
// each over five minutes, an hour and a day. age is how long ago it wrote the five-minute mean of
// CPU.
type craneNode struct {
	cpu, memory [3]float64
	age         time.Duration
	bare        bool // the node has no annotations
	kept        bool
	score       int64
}

// craneNodes have the scores of Crane's formula, in which the windows weigh 20, 30 and 50 %, and
// each resource contributes half of the score. kube-scheduler receives a tenth of it, rounded down.
// of it, rounded down.
//
//	score = int( sum of (1-u)*w*100 / 2 ) - 10*hot
var craneNodes = []craneNode{
	// CPU 90*0.2 + 80*0.3 + 70*0.5 = 77, memory the same: 154/2 = 77
	{cpu: [3]float64{10, 20, 30}, memory: [3]float64{10, 20, 30}, kept: true, score: 7},
	// CPU 50*0.2 + 40*0.3 + 30*0.5 = 37, memory 60*0.2 + 50*0.3 + 40*0.5 = 47:
	// 84/2 = 42; seven pods: 42 - 10*floor(7/3) = 22
	{cpu: [3]float64{50, 60, 70}, memory: [3]float64{40, 50, 60}, kept: true, score: 2},
	// CPU exceeds 65 over five minutes. 34*0.2 + 30*0.3 + 28*0.5 = 29.8, memory
	// 80: 109.8/2 = 54.9
	{cpu: [3]float64{66, 70, 72}, memory: [3]float64{20, 20, 20}, score: 5},
	// Memory exceeds 75 over an hour. CPU 90, memory 80*0.2 + 24*0.3 + 20*0.5 =
	// 33.2: 123.2/2 = 61.6
	{cpu: [3]float64{10, 10, 10}, memory: [3]float64{20, 76, 80}, score: 6},
	// Every value is at its limit, and none is above. 35*0.2 + 25*0.3 + 100*0.5 = 64.5 each: 129/2
	// = 64.5
	{cpu: [3]float64{65, 75, 0}, memory: [3]float64{65, 75, 0}, kept: true, score: 6},
	// The value 90 is nine minutes old but valid for 3 + 5 minutes only, so it neither rejects the
	// node nor counts in its score. CPU 60*0.3 + 60*0.5 = 48, memory 90: 138/2 = 69
	{cpu: [3]float64{90, 40, 40}, memory: [3]float64{10, 10, 10}, age: 9 * time.Minute, kept: true, score: 6},
	// Without values, the node is not rejected and is scored as if it were full.
	{bare: true, kept: true, score: 0},
}

// Crane's users start Evenkeel with their own policy. Whichever of the two writers' formats the
// annotations have, filter and score return the values of Crane's formula, and pods are placed
// accordingly.
func TestCranePolicy(t *testing.T) {
	cases := map[string]struct {
		limit5m, limit1h string
		format           func(percent float64) string
		zone             *time.Location
	}{
		"crane-scheduler: fractions, by Shanghai's clock": {
			"0.65", "0.75", func(percent float64) string { return fmt.Sprintf("%.5f", percent/100) }, exporters.Shanghai(),
		},
		"crane-scheduler-plus: percentages, by another": {
			"65", "75", func(percent float64) string { return fmt.Sprintf("%.1f", percent) }, time.UTC,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := stage.New(t)
			nodes, err := f.AddNodes(t.Context(), len(craneNodes), cluster.NodeTemplate{CPU: "32", Memory: "128Gi"})
			if err != nil {
				t.Fatal(err)
			}
			small := stage.Workload("small", cluster.Resources{CPU: "10m", Memory: "16Mi"}, cluster.Resources{CPU: "10m", Memory: "16Mi"})
			if err := f.Cluster.Place(t.Context(), cluster.Placement{Workload: small, On: stage.On(7, nodes[1])}); err != nil {
				t.Fatal(err)
			}
			for i, node := range nodes {
				annotate(t, f, node, &craneNodes[i], tc.format, tc.zone)
			}
			serveCrane(t, f, fmt.Sprintf(craneShipped, tc.limit5m, tc.limit1h))
			craneAnswers(t, f, nodes)
			craneSchedules(t, f, nodes)
		})
	}
}

// annotate writes what Crane's controller writes, including its local time with a meaningless Z.
func annotate(t *testing.T, f *stage.Fixture, node string, given *craneNode, format func(float64) string, zone *time.Location) {
	t.Helper()
	if given.bare {
		return
	}
	values := map[string]string{"node_hot_value": "0," + time.Now().In(zone).Format("2006-01-02T15:04:05Z")}
	for i, window := range craneWindows {
		now, then := time.Now().In(zone), time.Now().In(zone)
		if i == 0 {
			then = then.Add(-given.age)
		}
		values["cpu_usage_"+window] = format(given.cpu[i]) + "," + then.Format("2006-01-02T15:04:05Z")
		values["mem_usage_"+window] = format(given.memory[i]) + "," + now.Format("2006-01-02T15:04:05Z")
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": values}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Client().CoreV1().Nodes().Patch(t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// serveCrane starts the extender with a policy, and waits until it knows all nodes except the one
// without annotations.
func serveCrane(t *testing.T, f *stage.Fixture, policy string) {
	t.Helper()
	p := f.Start("extender", "--policy-config-file", f.Policy(policy), "--listen-address", stage.Listen(), "--metrics-address", "0")
	if err := p.WaitServing(t.Context(), "http://"+stage.Listen()+"/livez"); err != nil {
		t.Fatal(err)
	}
	f.Eventually(time.Minute, "the annotated nodes are known", func(context.Context) bool {
		return f.Status(stage.Listen()).FreshNodes == len(craneNodes)-1
	})
}

// craneAnswers sends requests to the extender directly.
func craneAnswers(t *testing.T, f *stage.Fixture, nodes []string) {
	t.Helper()
	var kept []string
	refused := extenderv1.FailedNodesMap{}
	scores := make(extenderv1.HostPriorityList, len(nodes))
	for i, node := range nodes {
		scores[i] = extenderv1.HostPriority{Host: node, Score: craneNodes[i].score}
		if craneNodes[i].kept {
			kept = append(kept, node)
		} else {
			refused[node] = "node load is too high"
		}
	}
	var filtered extenderv1.ExtenderFilterResult
	f.Ask("http://"+stage.Listen()+"/filter?full", nodes, &filtered)
	want := extenderv1.ExtenderFilterResult{NodeNames: &kept, FailedAndUnresolvableNodes: refused}
	if diff := cmp.Diff(want, filtered); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
	var scored extenderv1.HostPriorityList
	f.Ask("http://"+stage.Listen()+"/prioritize?full", nodes, &scored)
	if diff := cmp.Diff(scores, scored); diff != "" {
		t.Errorf("prioritize (-want +got):\n%s", diff)
	}
}

// craneSchedules lets kube-scheduler place pods. Pods that can run anywhere go to the least loaded
// node. A node above a limit gets only pods that can run nowhere else.
func craneSchedules(t *testing.T, f *stage.Fixture, nodes []string) {
	t.Helper()
	least, above := nodes[0], nodes[2]
	small := cluster.Resources{CPU: "10m", Memory: "16Mi"}
	landed := func(name, want string, among ...string) {
		w := stage.Workload(name, small, small)
		w.Replicas = 1
		if len(among) > 0 {
			w.NodeSelector = map[string]string{"kubernetes.io/hostname": among[0]}
		}
		if err := f.Deploy(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		for _, pod := range f.Pods(t.Context(), name) {
			if pod.Spec.NodeName != want {
				t.Errorf("pod %s landed on node %d, want node %d", pod.Name, slices.Index(nodes, pod.Spec.NodeName), slices.Index(nodes, want))
			}
		}
	}
	landed("first", least)
	landed("second", least)
	landed("bound", above, above)
}

// A policy with contradictory values is rejected before anything starts. The message contains its
// file, field and value.
func TestCranePolicyThatContradictsItself(t *testing.T) {
	f := stage.New(t)
	path := f.Policy(fmt.Sprintf(craneShipped, "0.65", "75"))
	got := stage.Run(t.Context(), t, t.TempDir(), "extender", "--policy-config-file", path, "--kubeconfig", f.Access.Extender, "--listen-address", "127.0.0.1:0")
	for _, want := range []string{path, "spec.predicate[1].maxLimitPecent", "75", "all limits must be fractions"} {
		if got.Code != 2 || !strings.Contains(got.Stderr, want) {
			t.Errorf("exit code %d without %q:\n%s", got.Code, want, got.Stderr)
		}
	}
}
