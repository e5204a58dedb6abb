package informed

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
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
