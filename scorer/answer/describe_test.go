package answer

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A replacement held by the API server is nominated for its planned node. If that has filled up or
// was closed since the observation, it is nominated for the coolest node instead. Other pods are
// not nominated. None of this counts as a request by kube-scheduler.
func TestLandNominates(t *testing.T) {
	for name, tc := range map[string]struct {
		used map[string]int64
		move bool
		want string
		// cordoned and deleted are the nodes that were cordoned or deleted after the observation.
		cordoned, deleted []string
		// refusing are the nodes that do not accept the pod.
		refusing []string
	}{
		"as planned":               {used: map[string]int64{"from": 7000, "to": 2000, "other": 1000}, move: true, want: "to"},
		"the plan has filled up":   {used: map[string]int64{"from": 7000, "to": 5900, "other": 1000}, move: true, want: "other"},
		"it replaces nothing":      {used: map[string]int64{"from": 7000, "to": 2000, "other": 1000}},
		"not measured by now":      {used: map[string]int64{"from": -1, "to": -1, "other": -1}, move: true, want: "to"},
		"all that is left is warm": {used: map[string]int64{"from": 7000, "to": 5900, "other": 5900}, move: true},
		"the plan was cordoned": {
			used: map[string]int64{"from": 7000, "to": 2000, "other": 1000, "third": 3000}, move: true, cordoned: []string{"to", "other"}, want: "third",
		},
		"the plan is gone": {
			used: map[string]int64{"from": 7000, "to": 2000, "other": 1000}, move: true, deleted: []string{"to"}, want: "other",
		},
		"the plan no longer accepts it": {
			used: map[string]int64{"from": 7000, "to": 2000, "other": 1000}, move: true, refusing: []string{"to"}, want: "other",
		},
		"every landing is closed": {
			used: map[string]int64{"from": 7000, "to": 2000, "other": 1000}, move: true, deleted: []string{"to"}, cordoned: []string{"other"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBridge(t)
			for node, used := range tc.used {
				b.node(node, used)
			}
			b.observe()
			uid := ""
			if tc.move {
				uid = b.record(1, "from", "to")
			}
			held := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "web-new", UID: types.UID("new"), Labels: map[string]string{"pod-template-hash": "h1"},
				OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "rs-1", Controller: new(true)}},
			}}
			b.observer.Store().SetPod(held)
			for _, node := range tc.cordoned {
				b.observer.Store().SetNode(&v1.Node{
					ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: v1.NodeSpec{Unschedulable: true},
					Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
				})
			}
			for _, node := range tc.deleted {
				b.observer.Store().DeleteNode(node)
			}
			takes := func(node string) bool { return !slices.Contains(tc.refusing, node) }
			if got := b.Land(held, takes); got != tc.want {
				t.Errorf("nominated %q, want %q", got, tc.want)
			}
			if move, _ := b.observer.Ledger().Get(uid); tc.want != "" && move.Node != tc.want {
				t.Errorf("space is reserved on %q, want %q", move.Node, tc.want)
			}
			if b.Asked() != 0 || b.AskedAbout("new") {
				t.Error("it counts as asked about")
			}
		})
	}
}

// If a pod stays held because the API server rejects its release or is unreachable, Land is called
// for it repeatedly. Its plan stays, because kube-scheduler has not tried to place the pod yet.
func TestLandAgain(t *testing.T) {
	b := newBridge(t)
	for node, used := range map[string]int64{"from": 7000, "to": 2000, "other": 1000} {
		b.node(node, used)
	}
	b.observe()
	b.record(1, "from", "to")
	held := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "web-new", UID: types.UID("new"), Labels: map[string]string{"pod-template-hash": "h1"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "rs-1", Controller: new(true)}},
	}}
	b.observer.Store().SetPod(held)
	for i := range 5 {
		if got := b.Land(held, func(string) bool { return true }); got != "to" {
			t.Errorf("attempt %d: nominated %q", i, got)
		}
		b.now = b.now.Add(2 * time.Second)
	}
}
