package informed

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
)

// listed returns a pod with its own strings, as decoding creates it.
func listed(i int) *v1.Pod {
	own := func(s string) string { return strings.Clone(s) }
	yes := true
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: own("shop"), Name: fmt.Sprint("web-", i), UID: types.UID(fmt.Sprint("uid-", i)), Labels: map[string]string{"pod-template-hash": own("1")},
			OwnerReferences: []metav1.OwnerReference{{Kind: own("ReplicaSet"), Name: own("web"), UID: types.UID(own("owner")), Controller: &yes}},
		},
		Spec: v1.PodSpec{NodeName: own("n1")},
	}
}

// The records of a list share their strings before the list is complete, and stay the same records.
func TestAListSharesStrings(t *testing.T) {
	for _, known := range []bool{false, true} {
		store := NewStore(nil)
		feed := podFeed{store}
		if known { // the list is read again
			if err := feed.Replace([]any{listed(9)}, ""); err != nil {
				t.Fatal(err)
			}
		}
		var records []*cluster.Pod
		for i := range 3 {
			out, err := feed.Transformer()(listed(i))
			if err != nil {
				t.Fatal(err)
			}
			records = append(records, out.(*cluster.Pod))
			if diff := cmp.Diff(Pod(listed(i)), records[i]); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
		}
		shared := map[string]func(*cluster.Pod) string{
			"namespace": func(p *cluster.Pod) string { return p.Namespace }, "owner": func(p *cluster.Pod) string { return p.Owner.UID },
			"owner's name": func(p *cluster.Pod) string { return p.Owner.Name }, "kind": func(p *cluster.Pod) string { return p.Owner.Kind },
			"template": func(p *cluster.Pod) string { return p.TemplateHash }, "node": func(p *cluster.Pod) string { return p.Node },
		}
		for name, of := range shared {
			if unsafe.StringData(of(records[0])) != unsafe.StringData(of(records[2])) {
				t.Errorf("%s: two records have one each (list read again: %t)", name, known)
			}
		}
	}
}

// Whatever arrives, what is remembered for sharing is bounded, and sharing continues.
func TestWhatIsSharedIsBounded(t *testing.T) {
	store := NewStore(nil)
	for i := range mostShared + 10 {
		pod := listed(i)
		pod.Namespace, pod.Spec.NodeName = fmt.Sprint(i), fmt.Sprint(i)
		if diff := cmp.Diff(Pod(pod), store.record(pod)); diff != "" {
			t.Fatalf("record (-want +got):\n%s", diff)
		}
		if n := len(store.shared.templates); n > mostShared || n == 0 || len(store.shared.nodes) > mostShared {
			t.Fatalf("remembers %d templates and %d nodes, want at most %d", n, len(store.shared.nodes), mostShared)
		}
	}
	if one, other := store.record(listed(1)), store.record(listed(2)); unsafe.StringData(one.Owner.UID) != unsafe.StringData(other.Owner.UID) {
		t.Error("two records have an owner each")
	}
}

// Pods that share their containers, as replicas do, may still differ in what else counts.
func TestSizesOfPodsThatShareContainers(t *testing.T) {
	list := func(cpu string) v1.ResourceList { return v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)} }
	replica, init := listed(0), []v1.Container{{Name: "init", Resources: v1.ResourceRequirements{Requests: list("3")}}}
	replica.Spec.Containers = []v1.Container{
		{Name: "a", Resources: v1.ResourceRequirements{Requests: list("1"), Limits: list("2")}},
		{Name: "b", Resources: v1.ResourceRequirements{Requests: list("1")}},
	}
	changes := map[string]func(*v1.Pod){
		"replica":              func(*v1.Pod) {},
		"overhead":             func(p *v1.Pod) { p.Spec.Overhead = list("1") },
		"requests of the pod":  func(p *v1.Pod) { p.Spec.Resources = &v1.ResourceRequirements{Requests: list("5")} },
		"an init container":    func(p *v1.Pod) { p.Spec.InitContainers = init },
		"one container less":   func(p *v1.Pod) { p.Spec.Containers = p.Spec.Containers[:1] },
		"no containers":        func(p *v1.Pod) { p.Spec.Containers = nil },
		"the second container": func(p *v1.Pod) { p.Spec.Containers = p.Spec.Containers[1:] },
	}
	for name, change := range changes {
		store, other := NewStore(nil), *replica
		store.record(replica)
		change(&other)
		if diff := cmp.Diff(Pod(&other), store.record(&other)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if len(store.shared.sizes) > 2 {
			t.Errorf("%s: %d sizes of two pods", name, len(store.shared.sizes))
		}
	}
	store := NewStore(nil)
	store.record(replica)
	if allocated := testing.AllocsPerRun(100, func() { store.shared.sizeOf(replica) }); allocated > 0 {
		t.Errorf("the size of a replica is calculated again, with %v allocations", allocated)
	}
}
