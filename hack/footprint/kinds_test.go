package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Everything that serve watches is served. client-go's informers get their first lists, including
// empty ones.
func TestOwnersAndBudgetsAreServed(t *testing.T) {
	for name, watchList := range map[string]bool{"streamed": true, "in pages": false} {
		t.Run(name, func(t *testing.T) {
			client, err := kubernetes.NewForConfig(restConfig(newFake(t, watchList)))
			if err != nil {
				t.Fatal(err)
			}
			factory := informers.NewSharedInformerFactory(client, 0)
			stores := map[string]struct {
				store cache.Store
				count int
			}{
				"ReplicaSets": {factory.Apps().V1().ReplicaSets().Informer().GetStore(), 3 * revisions},
				"budgets":     {factory.Policy().V1().PodDisruptionBudgets().Informer().GetStore(), 3},
				"CSINodes":    {factory.Storage().V1().CSINodes().Informer().GetStore(), 3},
				"namespaces":  {factory.Core().V1().Namespaces().Informer().GetStore(), namespaces},
				"claims":      {factory.Core().V1().PersistentVolumeClaims().Informer().GetStore(), 0},
			}
			factory.Start(t.Context().Done())
			for kind, ok := range factory.WaitForCacheSync(t.Context().Done()) {
				if !ok {
					t.Errorf("no first list of %v", kind)
				}
			}
			for kind, want := range stores {
				if got := len(want.store.ListKeys()); got != want.count {
					t.Errorf("%d %s, want %d", got, kind, want.count)
				}
			}
		})
	}
}

// Pods of the current revision belong to the ReplicaSet in their owner reference.
func TestPodsBelongToServedReplicaSets(t *testing.T) {
	f := &fleet{nodes: 3, podsPerNode: 2}
	sets := map[string]bool{}
	for i := range f.nodes * revisions {
		set := f.revision(i, firstVersion)
		sets[set.Namespace+"/"+set.Name+"/"+string(set.UID)] = *set.Spec.Replicas > 0
	}
	if len(sets) != f.nodes*revisions {
		t.Errorf("%d ReplicaSets are distinct, want %d", len(sets), f.nodes*revisions)
	}
	for i := range f.pods() {
		pod := f.pod(i, firstVersion)
		if owner := pod.OwnerReferences[0]; !sets[pod.Namespace+"/"+owner.Name+"/"+string(owner.UID)] {
			t.Errorf("pod %q belongs to %q, which is not there or wants no pods", pod.Name, owner.Name)
		}
	}
}

// Pods are replaced, and their number stays the same.
func TestPodsAreReplaced(t *testing.T) {
	f := &fleet{nodes: 3, podsPerNode: 2, churn: 60 * 100 * 20, watchList: true}
	fake := httptest.NewServer(newServer(f).handler())
	t.Cleanup(fake.Close)
	client, err := kubernetes.NewForConfig(restConfig(fake.URL))
	if err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	store := factory.Core().V1().Pods().Informer().GetStore()
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	first := map[string]bool{}
	for _, key := range store.ListKeys() {
		first[key] = true
	}
	eventually(t, "a new pod in every place", func() bool {
		keys, left := store.ListKeys(), 0
		for _, key := range keys {
			if first[key] {
				left++
			}
		}
		return left == 0 && len(keys) == f.pods()
	})
}

// The served usage makes exactly every tenth node hot.
func TestEveryTenthNodeIsHot(t *testing.T) {
	f := &fleet{nodes: 20, podsPerNode: 30}
	fake := httptest.NewServer(newServer(f).handler())
	t.Cleanup(fake.Close)
	response, err := http.Get(fake.URL + "/apis/metrics.k8s.io/v1beta1/nodes") //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var list struct {
		Items []struct{ Usage struct{ CPU string } }
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		t.Fatal(err)
	}
	hot := 0
	for _, item := range list.Items {
		if strings.HasPrefix(item.Usage.CPU, "257") && len(item.Usage.CPU) == len("25700000000n") { // 25.7 of 31.8 cores
			hot++
		}
	}
	if hot != 2 || len(list.Items) != 20 {
		t.Errorf("%d of %d nodes are hot, want 2 of 20", hot, len(list.Items))
	}
}

// The lines have the format of Go benchmarks.
func TestBenchmarkLines(t *testing.T) {
	var out strings.Builder
	printLines(&out, []row{
		{name: "evenkeel extender, MetricsServer", whole: memory{resident: 240 << 20, peak: 287 << 20}},
		{name: "client-go informers, stripped", whole: memory{resident: 1 << 30, peak: 3 << 29}},
	})
	const want = `
BenchmarkFootprint/extender/MetricsServer 1 287.0 peak-MiB 240.0 resident-MiB
BenchmarkFootprint/client-go-informers/stripped 1 1536.0 peak-MiB 1024.0 resident-MiB
`
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
