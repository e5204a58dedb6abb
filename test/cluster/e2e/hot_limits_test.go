package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// The hot pods have a disruption budget of one and start slowly, so nearly all the time the budget is used up. It is never
// overdrawn, and the nodes are cooled all the same.
//
//	hot node: 12 × 2.2 = 26.4 of 32 cores = 82.5 %; under 65 % (20.8 cores) takes three pods from each.
func TestBudgetIsKeptAndTheNodesAreCooled(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 6, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	const replicas = 24
	hog := workload("hog", cluster.Resources{CPU: "250m"}, cluster.Resources{CPU: "2200m"})
	hog.Grace = 3 * time.Second
	hog.Adjust = func(template *v1.PodTemplateSpec) {
		template.Annotations[cluster.ReadyAfterAnnotation] = "1500ms"
	}
	err = f.Place(t.Context(),
		cluster.Placement{Workload: hog, On: on(replicas/2, nodes[:2]...)},
		cluster.Placement{
			Workload: workload("web", cluster.Resources{CPU: "1"}, cluster.Resources{CPU: "500m"}),
			On:       on(4, nodes[2:]...),
		})
	if err != nil {
		t.Fatal(err)
	}
	f.budget("hog", 1)

	mark := f.mark()
	mostUnavailable := 0
	stop := f.watchPods("hog", func(pods map[types.UID]*v1.Pod) {
		available := 0
		for _, pod := range pods {
			if pod.DeletionTimestamp == nil && ready(pod) {
				available++
			}
		}
		mostUnavailable = max(mostUnavailable, replicas-available)
	})
	cycles := f.serveCounting(f.policy(realUsage, fast))
	f.eventually(2*time.Minute, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.hot(ctx, 65)) == 0 })
	f.cyclesPass(2, cycles)
	f.eventually(20*time.Second, "every replacement ready", func(ctx context.Context) bool {
		return f.WaitReady(ctx, "shop", "hog") == nil
	})
	stop()

	if mostUnavailable != 1 {
		t.Errorf("up to %d pods were unavailable at a time, want 1", mostUnavailable)
	}
	if hot := f.hot(t.Context(), 65); len(hot) > 0 {
		t.Errorf("%v are hot at the end", hot)
	}
	const fewest = 6
	if got := f.evictions(mark); got > fewest+1 {
		t.Errorf("%d evictions, the fewest possible are %d", got, fewest)
	}
	t.Logf("evictions %d, fewest %d; refused by the budget %d", f.evictions(mark), fewest, f.refusals(mark))
}

// budget lets as many pods of a Deployment be unavailable, and waits until the controller has counted them.
func (f *fixture) budget(deployment string, maxUnavailable int32) {
	f.t.Helper()
	budgets := f.Client().PolicyV1().PodDisruptionBudgets("shop")
	_, err := budgets.Create(f.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: deployment},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(maxUnavailable)),
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": deployment}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	f.eventually(20*time.Second, "a counted disruption budget", func(ctx context.Context) bool {
		budget, err := budgets.Get(ctx, deployment, metav1.GetOptions{})
		return err == nil && budget.Status.DisruptionsAllowed == maxUnavailable
	})
}

// refusals counts the evictions that the API server refused for a budget.
func (f *fixture) refusals(since cluster.AuditMark) int {
	f.t.Helper()
	requests, err := f.Audit(since)
	if err != nil {
		f.t.Fatal(err)
	}
	return len(requests.To("create", "pods/eviction").Where(func(r cluster.Request) bool { return r.Code == 429 }))
}

// One critical pod would do, or three best-effort ones: the three go.
//
//	hot node: 17 + 3 × 4 = 29 of 32 cores = 90.6 %; under 65 % (20.8 cores) takes the pod of 17 or all of 4.
func TestCriticalPodStays(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 4, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	f.priorityClass("shop-critical", 1_000_000)
	critical := workload("critical", cluster.Resources{CPU: "2"}, cluster.Resources{CPU: "17"})
	critical.PriorityClassName = "shop-critical"
	err = f.Place(t.Context(),
		cluster.Placement{Workload: critical, On: on(1, nodes[0])},
		cluster.Placement{
			Workload: workload("batch", cluster.Resources{}, cluster.Resources{CPU: "4"}),
			On:       on(3, nodes[0]),
		},
		cluster.Placement{
			Workload: workload("web", cluster.Resources{CPU: "1"}, cluster.Resources{CPU: "500m"}),
			On:       on(1, nodes[1:]...),
		})
	if err != nil {
		t.Fatal(err)
	}
	before := f.podOn(t.Context(), "critical", nodes[0])
	for _, pod := range f.pods(t.Context(), "batch") {
		if pod.Status.QOSClass != v1.PodQOSBestEffort {
			t.Fatalf("pod %s is %s", pod.Name, pod.Status.QOSClass)
		}
	}

	mark := f.mark()
	cycles := f.serveCounting(f.policy(realUsage, fast))
	f.eventually(2*time.Minute, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.hot(ctx, 65)) == 0 })
	f.cyclesPass(2, cycles)

	if after := f.podOn(t.Context(), "critical", nodes[0]); after.UID != before.UID || after.DeletionTimestamp != nil {
		t.Errorf("the critical pod was replaced: %s by %s, being deleted %v", before.UID, after.UID, after.DeletionTimestamp)
	}
	for _, pod := range f.pods(t.Context(), "batch") {
		if pod.Spec.NodeName == nodes[0] || pod.Spec.NodeName == "" {
			t.Errorf("pod %s is on %q", pod.Name, pod.Spec.NodeName)
		}
	}
	if got := f.evictions(mark); got != 3 {
		t.Errorf("%d evictions, want those of the three best-effort pods", got)
	}
}

// priorityClass makes a class; those of earlier cases stay.
func (f *fixture) priorityClass(name string, value int32) {
	f.t.Helper()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
	_, err := f.Client().SchedulingV1().PriorityClasses().Create(f.t.Context(), class, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		f.t.Fatal(err)
	}
}

// Two hot nodes are cooled one after the other while what left the first still terminates there for half a minute: by usage
// that node is then the best landing, but required anti-affinity lets nobody land beside the terminating pod.
//
//	node  db    web          total          without its db
//	0     18    12 × 0.5     24   = 75.0 %   6 = 18.8 %: the coolest, but its db still terminates
//	1     10    26 × 0.5     23   = 71.9 %  13 = 40.6 %
//	2      -     2 × 0.5      1   =  3.1 %  takes the 18 (59.4 %) and then nothing more
//	3      -    16 × 0.5      8   = 25.0 %  takes the 10 (56.3 %)
//	4     10     2 × 0.5     11   = 34.4 %  has a db already
//
// One db or at least five web pods cover what has to leave each hot node, so the fewest are two, the hotter node's first.
func TestLandingsRespectTerminatingPods(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 5, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	err = f.Place(t.Context(),
		cluster.Placement{Workload: spreadDB(), On: on(1, nodes[0], nodes[1], nodes[4])},
		cluster.Placement{
			Workload: workload("web", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "500m"}),
			On:       map[string]int{nodes[0]: 12, nodes[1]: 26, nodes[2]: 2, nodes[3]: 16, nodes[4]: 2},
		})
	if err != nil {
		t.Fatal(err)
	}
	large := f.podOn(t.Context(), "db", nodes[0])
	if err := f.SetUsage(t.Context(), "shop", large.Name, cluster.Resources{CPU: "18"}); err != nil {
		t.Fatal(err)
	}
	before := f.podsByUID(t.Context())

	var together []string
	secondLandedBeside := false
	stop := f.watchPods("db", func(pods map[types.UID]*v1.Pod) {
		perNode, landed := map[string]int{}, 0
		for _, pod := range pods {
			if pod.Spec.NodeName == "" {
				continue
			}
			if perNode[pod.Spec.NodeName]++; perNode[pod.Spec.NodeName] > 1 {
				together = append(together, pod.Spec.NodeName)
			}
			if _, old := before[string(pod.UID)]; !old {
				landed++
			}
		}
		secondLandedBeside = secondLandedBeside || landed == 2 && perNode[nodes[0]] == 1
	})
	mark := f.mark()
	// One move a cycle, and a sample between two cycles: the second plan sees the first node as cool.
	oneByOne := strings.Replace(fast, "ownerSettle: 0s", "ownerSettle: 0s, maxMovesPerCycle: 1", 1)
	cycles := f.serveCounting(f.policy(realUsage, oneByOne), "--descheduling-interval", "8s")
	f.eventually(2*time.Minute, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.hot(ctx, 65)) == 0 })
	f.eventually(20*time.Second, "two moves landed", func(ctx context.Context) bool {
		moves := f.moves(ctx)
		return len(moves) == 2 && moves[0].State == "Landed" && moves[1].State == "Landed"
	})
	f.cyclesPass(1, cycles)
	stop()

	if len(together) > 0 {
		t.Errorf("two pods were together on %v", together)
	}
	if !secondLandedBeside {
		t.Error("the second replacement did not land while the first pod still terminated: nothing was put to the test")
	}
	if got := f.evictions(mark); got != 2 {
		t.Errorf("%d evictions, want 2", got)
	}
	after := f.podsByUID(t.Context())
	for i, move := range f.moves(t.Context()) {
		pod, ok := after[move.Replacement]
		if want := nodes[i+2]; !ok || move.To != want || pod.Spec.NodeName != want {
			t.Errorf("move %d of %s: planned to %s, landed on %q, want %s both", i, move.Pod, move.To, pod.Spec.NodeName, want)
			continue
		}
		if waited := boundAfter(t, &pod); waited > 5*time.Second {
			t.Errorf("pod %s waited %v for its node", pod.Name, waited)
		}
	}
	if hot := f.hot(t.Context(), 65); len(hot) > 0 {
		t.Errorf("%v are hot at the end", hot)
	}
}

// spreadDB is a workload that has at most one pod on a node and takes half a minute to end.
func spreadDB() cluster.Workload {
	db := workload("db", cluster.Resources{CPU: "1"}, cluster.Resources{CPU: "10"})
	db.Grace = 30 * time.Second
	db.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
			TopologyKey:   v1.LabelHostname,
		}},
	}}
	return db
}
