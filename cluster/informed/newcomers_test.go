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

// listed is a pod with strings of its own, as decoding makes it.
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

// The records of a first list hold once what they have in common before the
// list is whole, and are the same records.
func TestAFirstListSharesStrings(t *testing.T) {
	for _, known := range []bool{false, true} {
		store := NewStore(nil)
		feed := podFeed{store}
		if known { // a list that is read again
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
			"template": func(p *cluster.Pod) string { return p.TemplateHash },
		}
		if !known {
			shared["node"] = func(p *cluster.Pod) string { return p.Node }
		}
		for name, of := range shared {
			if unsafe.StringData(of(records[0])) != unsafe.StringData(of(records[2])) {
				t.Errorf("%s: two records have one each (list read again: %t)", name, known)
			}
		}
	}
}

// What a first list is remembered by is bounded, and forgotten when the list is
// whole.
func TestNewcomersAreForgotten(t *testing.T) {
	store := NewStore(nil)
	for i := range mostNewcomers + 10 {
		store.acquaint(&cluster.Pod{UID: "u", Namespace: fmt.Sprint(i), Node: fmt.Sprint(i)})
	}
	if n := len(store.newcomers.templates); n > mostNewcomers || n == 0 {
		t.Errorf("remembers %d templates, want at most %d", n, mostNewcomers)
	}
	if err := (podFeed{store}).Replace(nil, ""); err != nil {
		t.Fatal(err)
	}
	store.acquaint(&cluster.Pod{UID: "u", Namespace: "late", Node: "n"})
	if len(store.newcomers.templates)+len(store.newcomers.nodes) > 0 {
		t.Errorf("remembers %v after the list", store.newcomers)
	}
}
