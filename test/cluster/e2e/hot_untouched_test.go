package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// Nodes that no eviction can cool stay unchanged, and the plan gives the reason. Another hot node
// in the same cluster is cooled, which shows that evicting works in general.
//
//	fast-0, fast-1  12 × 2.2 + 2 × 0.5 = 27.4 of 32 cores = 85.6 %; only these two nodes satisfy the pods' nodeSelector
//	giant-0         24       + 2 × 0.5 = 25              = 78.1 %; on any other node the pod of 24 would be as hot
//	system-0        17 + 6   + 2 × 0.5 = 24              = 75.0 %; a DaemonSet's pod and a bare one; less than half of what is too much could leave
//	burst-0         12 × 2.2           = 26.4            = 82.5 %; three pods of 2.2 can go to the cool nodes
//	cool-0 to -4               2 × 0.5 = 1               =  3.1 %
func TestNodesThatCannotBeCooledAreLeftAlone(t *testing.T) {
	f := newFixture(t)
	f.placeUncoolable()
	before := f.PodsByUID(t.Context())
	if hot := f.Hot(t.Context(), 65); len(hot) != 5 {
		t.Fatalf("%v are hot at the beginning, want five nodes", hot)
	}

	mark := f.Mark()
	policy := f.Policy(stage.RealUsage, stage.Fast)
	metrics := f.FreeAddress()
	f.Serve(policy, "--metrics-address", metrics)
	if err := f.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	plan := f.Plan(t.Context(), policy)
	f.Eventually(2*time.Minute, "only the nodes that cannot be cooled above the line", func(ctx context.Context) bool {
		return len(f.Hot(ctx, 65)) == 4
	})
	f.waitCycles(metrics, 4)
	f.Firing("hot nodes have nowhere to move pods to", []string{"EvenkeelNoRoomForHotNodes"}, metrics)

	requests, err := f.Audit(mark)
	if err != nil {
		t.Fatal(err)
	}
	after := f.PodsByUID(t.Context())
	if plan.Closed != "" {
		t.Fatalf("plan is closed: %s", plan.Closed)
	}
	for name, tc := range map[string]struct {
		nodes  []string
		reason string // why the pods on the nodes stay
		pods   []uncoolable
	}{
		"no landing: only the hot nodes satisfy the nodeSelector": {
			nodes: []string{"fast-0", "fast-1"}, reason: "NoLanding",
			pods: []uncoolable{
				{workload: "pinned", pods: 12, reason: "NoLanding", detail: "of 5 cool nodes, 5: NodeAffinity: "},
				{workload: "web", pods: 2, reason: "NoLanding", detail: "a cool node would take it, but not enough of the other pods"},
			},
		},
		"one giant pod: moving it would only move the heat": {
			nodes: []string{"giant-0"}, reason: "NoLanding",
			pods: []uncoolable{
				{workload: "giant", pods: 1, reason: "NoLanding", detail: "of 5 cool nodes, 5: its predicted usage would exceed the reject line"},
				{workload: "web", pods: 2, reason: "NoLanding", detail: "a cool node would take it, but not enough of the other pods"},
			},
		},
		"hot through what cannot be moved": {
			nodes: []string{"system-0"}, reason: "HotThroughImmovable",
			pods: []uncoolable{
				{workload: "agent", pods: 1, reason: "DaemonSetPod"},
				{workload: "bare", pods: 1, reason: "NoController"},
				{workload: "web", pods: 2, reason: "HotThroughImmovable", detail: "would not bring the node below its evict line"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, node := range tc.nodes {
				checkUntouched(t, requests, before, after, node)
				checkNode(t, &plan, node, tc.reason)
				for _, pods := range tc.pods {
					checkDeclined(t, &plan, node, pods)
				}
			}
		})
	}
	// 2 × (12 × 2.2 + 2 × 0.5) + (24 + 2 × 0.5) of 32 cores are above 65 % by 17.4
	if missing := f.Metric(metrics, "evenkeel_missing_room_cpu_cores"); missing < 16 || missing > 19 {
		t.Errorf("space for %v cores is missing, want about 17.4", missing)
	}
	if !f.gateEvent(t.Context(), "RoomMissing") {
		t.Error("no Event reports that space is missing")
	}
	burst := requests.To("create", "pods/eviction").Where(func(r cluster.Request) bool {
		return r.Code == 201 && strings.HasPrefix(r.Name, "burst-")
	})
	const fewest = 3
	if len(burst) < fewest || len(burst) > fewest+1 {
		t.Errorf("%d evictions from the node that can be cooled, the fewest possible are %d", len(burst), fewest)
	}
}

// uncoolable describes the pods of one workload on one node, with the reason why the plan does not
// move them.
type uncoolable struct {
	workload, reason, detail string
	pods                     int
}

// checkUntouched checks that a node has the same pods as before, and that the eviction of none of
// them was attempted.
func checkUntouched(t *testing.T, requests cluster.Requests, before, after map[string]v1.Pod, node string) {
	t.Helper()
	for uid, pod := range before {
		if pod.Spec.NodeName != node {
			continue
		}
		if now, ok := after[uid]; !ok || now.DeletionTimestamp != nil {
			t.Errorf("pod %s of node %s is gone", pod.Name, node)
		}
		tried := requests.To("create", "pods/eviction").Where(func(r cluster.Request) bool { return r.Name == pod.Name })
		if len(tried) > 0 {
			t.Errorf("%d evictions of pod %s were tried", len(tried), pod.Name)
		}
	}
}

func checkNode(t *testing.T, p *stage.Planned, node, reason string) {
	t.Helper()
	for _, move := range p.Moves {
		if move.From == node || move.To == node {
			t.Errorf("the plan moves %s from %s to %s", move.Pod, move.From, move.To)
		}
	}
	for _, n := range p.Nodes {
		if n.Name == node && (n.State != "hot" || n.Reason != reason) {
			t.Errorf("the plan calls node %s %s with the reason %q, want hot and %q", node, n.State, n.Reason, reason)
		}
	}
}

func checkDeclined(t *testing.T, p *stage.Planned, node string, want uncoolable) {
	t.Helper()
	reasons, pods := p.Reasons(node, want.workload)
	detail, ok := reasons[want.reason]
	if !ok || len(reasons) != 1 || pods != want.pods || !strings.Contains(detail, want.detail) {
		t.Errorf("the plan declines %d pods of %s on node %s for %q, want %d for %s: %s",
			pods, want.workload, node, reasons, want.pods, want.reason, want.detail)
	}
}

// placeUncoolable sets up the cluster of
// TestNodesThatCannotBeCooledAreLeftAlone.
func (f *fixture) placeUncoolable() {
	f.T.Helper()
	fastNodes := f.nodes("fast-", 2, "disk", "fast")
	giantNodes := f.nodes("giant-", 1, "for", "giant")
	systemNodes := f.nodes("system-", 1, "for", "system")
	burstNodes := f.nodes("burst-", 1, "for", "burst")
	coolNodes := f.nodes("cool-", 5, "for", "anything")

	pinned := stage.Workload("pinned", cluster.Resources{CPU: "250m"}, cluster.Resources{CPU: "2200m"})
	pinned.NodeSelector = map[string]string{"disk": "fast"}
	webNodes := append(append(append(append([]string{}, fastNodes...), giantNodes...), systemNodes...), coolNodes...)
	err := f.Place(f.T.Context(),
		cluster.Placement{Workload: pinned, On: stage.On(12, fastNodes...)},
		cluster.Placement{
			Workload: stage.Workload("giant", cluster.Resources{CPU: "1"}, cluster.Resources{CPU: "24"}),
			On:       stage.On(1, giantNodes...),
		},
		cluster.Placement{
			Workload: stage.Workload("burst", cluster.Resources{CPU: "250m"}, cluster.Resources{CPU: "2200m"}),
			On:       stage.On(12, burstNodes...),
		},
		cluster.Placement{
			Workload: stage.Workload("web", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "500m"}),
			On:       stage.On(2, webNodes...),
		})
	if err != nil {
		f.T.Fatal(err)
	}
	f.daemonSet("agent", "for", "system", "17")
	f.barePod("bare", systemNodes[0], "6")
}

// nodes adds nodes of 32 cores with a label.
func (f *fixture) nodes(prefix string, n int, label, value string) []string {
	f.T.Helper()
	names, err := f.AddNodes(f.T.Context(), n, cluster.NodeTemplate{
		NamePrefix: prefix, CPU: "32", Memory: "256Gi", Labels: map[string]string{label: value},
	})
	if err != nil {
		f.T.Fatal(err)
	}
	return names
}

// usingCPU returns the pod annotation that sets a pod's real usage.
func usingCPU(cpu string) map[string]string {
	return map[string]string{"kwok.x-k8s.io/usage-cpu": cpu, "kwok.x-k8s.io/usage-memory": "64Mi"}
}

// daemonSet runs a pod on each node with the label, and waits for one pod.
func (f *fixture) daemonSet(name, label, value, cpu string) {
	f.T.Helper()
	labels := map[string]string{"app": name}
	sets := f.Client().AppsV1().DaemonSets("shop")
	_, err := sets.Create(f.T.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: usingCPU(cpu)},
				Spec: v1.PodSpec{
					NodeSelector: map[string]string{label: value},
					Containers:   []v1.Container{{Name: "main", Image: "registry.example/" + name}},
				},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	f.Eventually(20*time.Second, "the DaemonSet's pod", func(ctx context.Context) bool {
		set, err := sets.Get(ctx, name, metav1.GetOptions{})
		return err == nil && set.Status.NumberReady == 1
	})
}

// barePod runs a pod that nothing would recreate.
func (f *fixture) barePod(name, node, cpu string) {
	f.T.Helper()
	pods := f.Client().CoreV1().Pods("shop")
	_, err := pods.Create(f.T.Context(), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: usingCPU(cpu)},
		Spec: v1.PodSpec{
			NodeName:   node,
			Containers: []v1.Container{{Name: "main", Image: "registry.example/" + name}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	f.Eventually(20*time.Second, "the bare pod", func(ctx context.Context) bool {
		pod, err := pods.Get(ctx, name, metav1.GetOptions{})
		return err == nil && ready(pod)
	})
}
