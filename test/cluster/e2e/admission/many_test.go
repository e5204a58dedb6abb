package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// byAPIServerAtOnce is byAPIServer with limits that allow all moves of a large cluster at once. It
// does not require a minimum of hot time saved, because a process that has observed for a short
// time mistakes a sudden rise for a burst.
var byAPIServerAtOnce = strings.Replace(byAPIServer, "cycleDeadline: 3m",
	"cycleDeadline: 8m, interval: 0s, minHotTimeSaved: 0s, maxMovesPerCycle: 300, maxMovesPerHour: 1000, cooldown: {base: 0s, max: 0s}", 1)

// A hot node has 14 pods, each using 2.2 of its 32 cores (96 % together) and requesting a quarter
// of a core, so five must leave to get below 65 %. Each other node has a pod that uses 2.4 cores
// but requests 24.
const (
	perHotNode, fewestPerNode = 14, 5
	zoneLabel                 = v1.LabelTopologyZone
)

var (
	small = cluster.Resources{CPU: "250m", Memory: "128Mi"}
	heavy = cluster.Resources{CPU: "2200m", Memory: "256Mi"}
	wide  = cluster.Resources{CPU: "24", Memory: "128Mi"}
	light = cluster.Resources{CPU: "2400m", Memory: "256Mi"}
)

// judge checks and counts the evictions since the mark and the replacements on their planned nodes.
// No replacement may be on a node that was hot.
func judge(t *testing.T, f *stage.Fixture, mark cluster.AuditMark, hot []string, fewest int) {
	t.Helper()
	landed(t, f)
	after, exact, made := f.PodsByUID(t.Context()), 0, 0
	for _, move := range f.Moves() {
		if move.State == "Cancelled" { // planned but not made
			continue
		}
		made++
		node := after[move.Replacement].Spec.NodeName
		if slices.Contains(hot, node) {
			t.Errorf("%s, on a hot node", &move)
		}
		if move.State == "Landed" && node == move.To {
			exact++
		} else {
			t.Logf("%s, which is on %q", &move, node)
		}
	}
	evictions := f.Evictions(mark)
	if evictions > fewest+2 || made != evictions {
		t.Errorf("%d evictions for %d moves, want %d or two more", evictions, made, fewest)
	}
	if 100*exact < 95*made {
		t.Errorf("%d of %d replacements are on their planned nodes, want 95 %%", exact, made)
	}
	t.Logf("figures: evictions %d, fewest %d; on plan %d", evictions, fewest, exact)
}

// cooledLarge waits until no node is hot, no pod is held and no key is left.
func cooledLarge(t *testing.T, f *stage.Fixture, o ours) {
	t.Helper()
	f.Eventually(6*time.Minute, "no node above its line", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	f.Eventually(20*time.Second, "no pod held and no key left", func(ctx context.Context) bool { return nothingLeft(ctx, f, o) })
}

// In a cluster of a thousand nodes, kube-scheduler considers only a sample of them. Replacements
// still land on their planned nodes.
//
//e2e:tier all
//e2e:alone
func TestThousandNodesWithoutExtender(t *testing.T) {
	const all, burning, owners = 1000, 40, 10
	f, o := unasked(t, "admission-steering")
	nodes, err := f.AddNodes(t.Context(), all, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	hot, others := nodes[:burning], nodes[burning:]
	placements := []cluster.Placement{{Workload: stage.Workload("bg", wide, light), On: stage.On(1, others...)}}
	for i := range owners {
		on := map[string]int{}
		for k := i; k < burning; k += owners {
			on[hot[k]] = perHotNode
		}
		placements = append(placements, cluster.Placement{Workload: stage.Workload(fmt.Sprint("hog-", i), small, heavy), On: on})
	}
	if err := f.Place(t.Context(), placements...); err != nil {
		t.Fatal(err)
	}
	mark := f.Mark()
	f.Serve(f.Policy(stage.RealUsage, byAPIServerAtOnce))
	cooledLarge(t, f, o)
	judge(t, f, mark, hot, burning*fewestPerNode)
}

// Pods with zones, a hard spread constraint, anti-affinity or a preempting priority land on their
// planned nodes, and no pod is preempted. A pod that was steered once can be moved again.
//
//e2e:tier all
func TestConstrainedPodsWithoutExtender(t *testing.T) {
	f, o := unasked(t, "admission-steering")
	constrainedPods(t, f, o, func(policy string) { f.Serve(policy) })
}

func constrainedPods(t *testing.T, f *stage.Fixture, o ours, serve func(policy string)) {
	t.Helper()
	const perZone, hotPerZone = 100, 3
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "vip"}, Value: 1000}
	if _, err := f.Client().SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	zones, hot, others := map[string]string{}, []string{}, []string{}
	for _, zone := range []string{"a", "b", "c"} {
		nodes, err := f.AddNodes(t.Context(), perZone, cluster.NodeTemplate{
			NamePrefix: "node-" + zone, CPU: "32", Memory: "256Gi", Labels: map[string]string{zoneLabel: zone},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, node := range nodes {
			zones[node] = zone
			if i < hotPerZone {
				hot = append(hot, node)
			} else {
				others = append(others, node)
			}
		}
	}
	spread, apart, vip := stage.Workload("spread", small, heavy), stage.Workload("apart", small, heavy), stage.Workload("vip", small, heavy)
	spread.Adjust = func(pod *v1.PodTemplateSpec) {
		pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: zoneLabel, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
		}}
	}
	apart.Adjust = func(pod *v1.PodTemplateSpec) {
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
		}}}}
	}
	vip.PriorityClassName = class.Name
	err := f.Place(t.Context(),
		cluster.Placement{Workload: stage.Workload("bg", wide, light), On: stage.On(1, others...)},
		cluster.Placement{Workload: spread, On: stage.On(6, hot...)},
		cluster.Placement{Workload: apart, On: stage.On(1, hot...)},
		cluster.Placement{Workload: vip, On: stage.On(perHotNode-7, hot...)},
	)
	if err != nil {
		t.Fatal(err)
	}
	before, mark := uids(f.Pods(t.Context(), "bg")), f.Mark()
	serve(f.Policy(stage.RealUsage, byAPIServerAtOnce))
	cooledLarge(t, f, o)
	judge(t, f, mark, hot, len(hot)*fewestPerNode)
	constrained := func() {
		t.Helper()
		perZone, perNode := map[string]int{"a": 0, "b": 0, "c": 0}, map[string]int{}
		for _, pod := range f.Pods(t.Context(), "spread") {
			perZone[zones[pod.Spec.NodeName]]++
		}
		for _, pod := range f.Pods(t.Context(), "apart") {
			perNode[pod.Spec.NodeName]++
		}
		if most, least := max(perZone["a"], perZone["b"], perZone["c"]), min(perZone["a"], perZone["b"], perZone["c"]); most-least > 1 {
			t.Errorf("the spread is %v", perZone)
		}
		for node, pods := range perNode {
			if pods > 1 {
				t.Errorf("%d pods that keep apart are on %s", pods, node)
			}
		}
		if left := uids(f.Pods(t.Context(), "bg")); !slices.Equal(before, left) {
			t.Error("pods of a lower priority were preempted")
		}
	}
	constrained()
	again(t, f, o)
	constrained()
}

// again makes the node of a steered pod hot, and expects that this pod is moved once more.
func again(t *testing.T, f *stage.Fixture, o ours) {
	t.Helper()
	var moved *stage.Move
	for _, move := range f.Moves() {
		if move.State == "Landed" && strings.HasPrefix(move.Pod, "spread-") {
			moved = &move
			break
		}
	}
	if moved == nil {
		t.Fatal("no pod of the spread was moved")
	}
	pods, grown := f.PodsByUID(t.Context()), 0
	for _, pod := range pods {
		if strings.HasPrefix(pod.Name, "bg-") && pod.Spec.NodeName == moved.Node {
			grown++
			if err := f.SetUsage(t.Context(), "shop", pod.Name, cluster.Resources{CPU: "20"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if grown != 1 {
		t.Fatalf("%d pods of bg are on %s", grown, moved.Node)
	}
	cooledLarge(t, f, o)
	landed(t, f)
	for _, move := range f.Moves() {
		if move.Pod != pods[moved.Replacement].Name || move.State == "Cancelled" {
			continue
		}
		if node := f.PodsByUID(t.Context())[move.Replacement].Spec.NodeName; move.State != "Landed" || node != move.To {
			t.Errorf("the second move: %s, which is on %q", &move, node)
		}
		return
	}
	t.Error("the steered pod was not moved a second time")
}

func uids(pods []v1.Pod) []string {
	var all []string
	for i := range pods {
		all = append(all, string(pods[i].UID))
	}
	slices.Sort(all)
	return all
}

// landed waits until no move is in flight.
func landed(t *testing.T, f *stage.Fixture) {
	t.Helper()
	f.Eventually(30*time.Second, "no move in flight", func(context.Context) bool {
		return !slices.ContainsFunc(f.Moves(), func(m stage.Move) bool { return m.InFlight() })
	})
}
