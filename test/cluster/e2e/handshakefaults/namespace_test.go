package handshakefaults

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// A namespace with half of the pods of two hot nodes is deleted between two evictions. From then
// on, none of its pods is evicted. Without these pods no node is hot, so no others are evicted
// either. The moves of the namespace end, and other moves can be made later.
//
//	hot node: 6 hog + 6 doomed, of 2200m = 26.4 of 32 cores = 82.5 %; 6 hog alone = 41.3 %
//
//e2e:tier all
func TestNamespaceDeletedMidCycle(t *testing.T) {
	f := &fixture{Fixture: stage.New(t)}
	nodes, err := f.AddNodes(t.Context(), 6, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	hog := stage.Workload("hog", cluster.Resources{CPU: "250m", Memory: "128Mi"}, cluster.Resources{CPU: "2200m", Memory: "256Mi"})
	doomed := hog
	doomed.Namespace, doomed.Name = "doomed", "doomed"
	bg := stage.Workload("bg", cluster.Resources{CPU: "2", Memory: "128Mi"}, cluster.Resources{CPU: "300m", Memory: "256Mi"})
	err = f.Place(t.Context(),
		cluster.Placement{Workload: hog, On: stage.On(6, nodes[:2]...)}, cluster.Placement{Workload: doomed, On: stage.On(6, nodes[:2]...)},
		cluster.Placement{Workload: bg, On: stage.On(8, nodes[2:]...)})
	if err != nil {
		t.Fatal(err)
	}
	mark, metrics := f.Mark(), f.FreeAddress()
	// A process that has seen 2200m for a minute treats 5 cores as a burst for three more minutes,
	// which is not tested here.
	policy := strings.Replace(paced(2*time.Second), "ownerSettle: 0s", "ownerSettle: 0s, minHotTimeSaved: 0s", 1)
	f.Serve(f.Policy(stage.RealUsage, policy), "--metrics-address", metrics)
	of := func(namespace string) (evictions []stage.Eviction) {
		return slices.DeleteFunc(f.Granted(mark), func(e stage.Eviction) bool { return e.Namespace != namespace })
	}
	f.Eventually(90*time.Second, "an eviction of the namespace", func(context.Context) bool { return len(of("doomed")) > 0 })
	if err := f.Client().CoreV1().Namespaces().Delete(t.Context(), "doomed", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	deleted, others := time.Now(), len(of("shop"))
	inFlight := func(m stage.Move) bool { return m.InFlight() }
	f.Eventually(90*time.Second, "no move in flight", func(context.Context) bool { return !slices.ContainsFunc(f.Moves(), inFlight) })
	normal := time.Since(deleted)
	for _, eviction := range of("doomed") {
		if late := eviction.At.Sub(deleted); late > time.Second {
			t.Errorf("pod %s was evicted %v after its namespace was deleted", eviction.Pod, late)
		}
	}
	cycles := f.Metric(metrics, `evenkeel_cycles_total{result="success"}`)
	f.Eventually(time.Minute, "more cycles", func(context.Context) bool {
		return f.Metric(metrics, `evenkeel_cycles_total{result="success"}`) >= cycles+2
	})
	if got := len(of("shop")) - others; got > 1 { // one may already have been requested
		t.Errorf("%d pods of the other namespace were evicted, although no node was hot any longer", got)
	}

	for _, pod := range f.Pods(t.Context(), "hog") { // 5 × 5 = 25 cores = 78 % on a node from which one was moved
		if err := f.SetUsage(t.Context(), pod.Namespace, pod.Name, cluster.Resources{CPU: "5"}); err != nil {
			t.Fatal(err)
		}
	}
	before := len(of("shop"))
	f.Eventually(90*time.Second, "moves of the other namespace", func(context.Context) bool { return len(of("shop")) > before })
	t.Logf("figures: normal after %.1f s, evictions of the namespace %d, of the other %d", normal.Seconds(), len(of("doomed")), len(of("shop")))
}
