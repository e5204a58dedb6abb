package e2e

import (
	"context"
	"slices"
	"sync"
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
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// The hot pods start slowly and have a disruption budget of one, so the budget is used up nearly
// all the time. The budget is never exceeded, and the nodes are still cooled.
//
//	hot node: 12 × 2.2 = 26.4 of 32 cores = 82.5 %; under 65 % (20.8 cores) takes three pods from each.
func TestBudgetIsKeptAndTheNodesAreCooled(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 6, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	const replicas = 24
	hog := stage.Workload("hog", cluster.Resources{CPU: "250m"}, cluster.Resources{CPU: "2200m"})
	hog.Grace = 3 * time.Second
	hog.Adjust = func(template *v1.PodTemplateSpec) {
		template.Annotations[cluster.ReadyAfterAnnotation] = "1500ms"
	}
	err = f.Place(t.Context(),
		cluster.Placement{Workload: hog, On: stage.On(replicas/2, nodes[:2]...)},
		cluster.Placement{
			Workload: stage.Workload("web", cluster.Resources{CPU: "1"}, cluster.Resources{CPU: "500m"}),
			On:       stage.On(4, nodes[2:]...),
		})
	if err != nil {
		t.Fatal(err)
	}
	f.budget("hog", 1)

	mark := f.Mark()
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
	metrics := f.FreeAddress()
	f.Serve(f.Policy(stage.RealUsage, stage.Fast), "--metrics-address", metrics)
	f.Eventually(2*time.Minute, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	f.waitCycles(metrics, 2)
	f.Eventually(20*time.Second, "every replacement ready", func(ctx context.Context) bool {
		return f.WaitReady(ctx, "shop", "hog") == nil
	})
	stop()

	if mostUnavailable != 1 {
		t.Errorf("up to %d pods were unavailable at a time, want 1", mostUnavailable)
	}
	if hot := f.Hot(t.Context(), 65); len(hot) > 0 {
		t.Errorf("%v are hot at the end", hot)
	}
	const fewest = 6
	if got := f.Evictions(mark); got > fewest+1 {
		t.Errorf("%d evictions, the fewest possible are %d", got, fewest)
	}
	t.Logf("evictions %d, fewest %d; refused by the budget %d", f.Evictions(mark), fewest, f.refusals(mark))
}

// budget creates a budget that lets the given number of a Deployment's pods be unavailable, and
// waits until the controller has counted the pods.
func (f *fixture) budget(deployment string, maxUnavailable int32) {
	f.T.Helper()
	budgets := f.Client().PolicyV1().PodDisruptionBudgets("shop")
	_, err := budgets.Create(f.T.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: deployment},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: new(intstr.FromInt32(maxUnavailable)),
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": deployment}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	f.Eventually(20*time.Second, "a counted disruption budget", func(ctx context.Context) bool {
		budget, err := budgets.Get(ctx, deployment, metav1.GetOptions{})
		return err == nil && budget.Status.DisruptionsAllowed == maxUnavailable
	})
}

// refusals counts the evictions that the API server refused because of a budget.
func (f *fixture) refusals(since cluster.AuditMark) int {
	f.T.Helper()
	requests, err := f.Audit(since)
	if err != nil {
		f.T.Fatal(err)
	}
	return len(requests.To("create", "pods/eviction").Where(func(r cluster.Request) bool { return r.Code == 429 }))
}

// Moving either one critical pod or three best-effort pods would suffice. The three are moved.
//
//	hot node: 17 + 3 × 4 = 29 of 32 cores = 90.6 %; under 65 % (20.8 cores) takes the pod of 17 or all of 4.
func TestCriticalPodStays(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 4, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	f.priorityClass("shop-critical", 1_000_000)
	critical := stage.Workload("critical", cluster.Resources{CPU: "2"}, cluster.Resources{CPU: "17"})
	critical.PriorityClassName = "shop-critical"
	err = f.Place(t.Context(),
		cluster.Placement{Workload: critical, On: stage.On(1, nodes[0])},
		cluster.Placement{
			Workload: stage.Workload("batch", cluster.Resources{}, cluster.Resources{CPU: "4"}),
			On:       stage.On(3, nodes[0]),
		},
		cluster.Placement{
			Workload: stage.Workload("web", cluster.Resources{CPU: "1"}, cluster.Resources{CPU: "500m"}),
			On:       stage.On(1, nodes[1:]...),
		})
	if err != nil {
		t.Fatal(err)
	}
	before := f.podOn(t.Context(), "critical", nodes[0])
	for _, pod := range f.Pods(t.Context(), "batch") {
		if pod.Status.QOSClass != v1.PodQOSBestEffort {
			t.Fatalf("pod %s is %s", pod.Name, pod.Status.QOSClass)
		}
	}

	mark := f.Mark()
	metrics := f.FreeAddress()
	f.Serve(f.Policy(stage.RealUsage, stage.Fast), "--metrics-address", metrics)
	f.Eventually(2*time.Minute, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	f.waitCycles(metrics, 2)

	if after := f.podOn(t.Context(), "critical", nodes[0]); after.UID != before.UID || after.DeletionTimestamp != nil {
		t.Errorf("the critical pod was replaced: %s by %s, being deleted %v", before.UID, after.UID, after.DeletionTimestamp)
	}
	for _, pod := range f.Pods(t.Context(), "batch") {
		if pod.Spec.NodeName == nodes[0] || pod.Spec.NodeName == "" {
			t.Errorf("pod %s is on %q", pod.Name, pod.Spec.NodeName)
		}
	}
	if got := f.Evictions(mark); got != 3 {
		t.Errorf("%d evictions, want those of the three best-effort pods", got)
	}
}

// priorityClass creates a PriorityClass, or keeps that of an earlier case.
func (f *fixture) priorityClass(name string, value int32) {
	f.T.Helper()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
	_, err := f.Client().SchedulingV1().PriorityClasses().Create(f.T.Context(), class, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		f.T.Fatal(err)
	}
}

// Hot pods with required anti-affinity take half a minute to terminate. They are moved at once,
// although one of them is still terminating on the destination that is best by usage.
//
//	node     db           web
//	0, 1     10           26 × 0.5  = 23  of 32 cores = 71.9 %; the one db or five web pods cover what has to leave
//	0, 1     10           26 × 0.5  = 23  of 32 cores = 71.9 %; moving the one db or five web pods suffices
//	5        0.5           1 × 0.5  =  1              =  3.1 %; its db is deleted, and its replacement takes one of 2, 3, 4
//
// So only two of the nodes 2, 3 and 4 remain as destinations.
func TestLandingsRespectTerminatingPods(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 6, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	hot, landings, last := nodes[:2], nodes[2:5], nodes[5]
	err = f.Place(t.Context(),
		cluster.Placement{Workload: spreadDB(), On: stage.On(1, hot[0], hot[1], last)},
		cluster.Placement{
			Workload: stage.Workload("web", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "500m"}),
			On:       map[string]int{hot[0]: 26, hot[1]: 26, landings[0]: 10, landings[1]: 10, landings[2]: 10, last: 1},
		})
	if err != nil {
		t.Fatal(err)
	}
	deleted := f.podOn(t.Context(), "db", last).Name
	if err := f.SetUsage(t.Context(), "shop", deleted, cluster.Resources{CPU: "500m"}); err != nil {
		t.Fatal(err)
	}
	kept := f.watchTogether(last)

	mark := f.Mark()
	f.PauseAsBefore(true) // until one of the pods is terminating
	f.Serve(f.Policy(stage.RealUsage, stage.Fast))
	// If the nodes were closer to the line, moving a single web pod would suffice, and no db pod
	// would be planned.
	f.Eventually(5*time.Minute, "every node known for what it is", func(context.Context) bool {
		return f.Are("hot", hot...) && f.Are("cool", nodes[2:]...) && f.Measured(67.5, hot...)
	})
	if err := f.Client().CoreV1().Pods("shop").Delete(t.Context(), deleted, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.Eventually(20*time.Second, "the deleted pod replaced", func(context.Context) bool { return kept.landed() == 1 })
	f.PauseAsBefore(false)
	f.Eventually(time.Minute, "no node above 65 % of CPU", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	f.Eventually(20*time.Second, "two moves landed", func(context.Context) bool { return kept.landed() == 3 && len(f.Moves()) == 2 })
	kept.stop()

	if len(kept.together) > 0 {
		t.Errorf("two pods were together on %v", kept.together)
	}
	if kept.besideTerminating != 3 {
		t.Errorf("%d of 3 pods landed while the deleted one still terminated: the case was not put to the test", kept.besideTerminating)
	}
	if got := f.Evictions(mark); got != 2 {
		t.Errorf("%d evictions, want 2", got)
	}
	after := f.PodsByUID(t.Context())
	for _, move := range f.Moves() {
		pod := after[move.Replacement]
		if !slices.Contains(landings, move.To) || pod.Spec.NodeName != move.To {
			t.Errorf("move of %s: planned to %s, landed on %q, want both the same one of %v", move.Pod, move.To, pod.Spec.NodeName, landings)
		}
		if waited := boundAfter(t, &pod); waited > 5*time.Second {
			t.Errorf("pod %s waited %v for its node", pod.Name, waited)
		}
	}
}

// together records what a watch sees of pods that must be kept apart.
type together struct {
	stop func()
	// together lists the nodes that had two of the pods at a time, including terminating ones.
	together []string
	// besideTerminating counts the pods that were bound while another one was terminating on the
	// given node.
	besideTerminating int

	mu    sync.Mutex
	nodes map[types.UID]string // of the pods that were bound since the watch began
}

func (w *together) landed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.nodes)
}

// watchTogether watches the pods of the Deployment db from now on.
func (f *fixture) watchTogether(terminatingOn string) *together {
	f.T.Helper()
	before := f.PodsByUID(f.T.Context())
	w := &together{nodes: map[types.UID]string{}}
	w.stop = f.watchPods("db", func(pods map[types.UID]*v1.Pod) {
		w.mu.Lock()
		defer w.mu.Unlock()
		perNode, terminating := map[string]int{}, false
		for _, pod := range pods {
			if node := pod.Spec.NodeName; node != "" {
				if perNode[node]++; perNode[node] > 1 {
					w.together = append(w.together, node)
				}
				terminating = terminating || node == terminatingOn && pod.DeletionTimestamp != nil
			}
		}
		for uid, pod := range pods {
			_, old := before[string(uid)]
			_, seen := w.nodes[uid]
			if node := pod.Spec.NodeName; node != "" && !old && !seen {
				w.nodes[uid] = node
				if terminating {
					w.besideTerminating++
				}
			}
		}
	})
	return w
}

// spreadDB is a workload with at most one pod per node, whose pods take half a minute to terminate.
func spreadDB() cluster.Workload {
	db := stage.Workload("db", cluster.Resources{CPU: "1"}, cluster.Resources{CPU: "10"})
	db.Grace = 30 * time.Second
	db.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
			TopologyKey:   v1.LabelHostname,
		}},
	}}
	return db
}
