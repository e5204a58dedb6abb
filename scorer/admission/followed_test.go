package admission

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// follow starts Followed on the API server of a world, and waits for the first list.
func follow(t *testing.T, w *world) *Followed {
	t.Helper()
	f, ctx := NewFollowed(w.server), t.Context()
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	t.Cleanup(running.Wait) // runs after the context has ended
	if !f.Wait(ctx) {
		t.Fatal("no list came")
	}
	return f
}

// keyed returns a Steering with the given targets.
func keyed(namespace, name string, targets any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": resource.GroupVersion().String(), "kind": "Steering",
		"metadata": map[string]any{"namespace": namespace, "name": name}, "targets": targets,
	}}
}

// pod returns a pod of the owner to which this key belongs. Its name does not matter.
func (k keyID) pod() *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", UID: types.UID(k.name), Controller: new(true)}}}}
}

// An open and complete key returns its nodes. Any other key steers nothing.
func TestFollowedOf(t *testing.T) {
	const later, now = "2026-11-04T02:00:10Z", "2026-11-04T02:00:00Z"
	crowd := make([]any, maxNodes+1)
	for i := range crowd {
		crowd[i] = "n1"
	}
	w := newWorld(
		keyed("shop", objectName, map[string]any{
			"gate":  map[string]any{"nodes": []any{"n1", "n2"}, "until": later, "by": "Gate"},
			"names": map[string]any{"nodes": []any{"n1", "n2"}, "until": later, "by": "Names"}, "absent": map[string]any{"nodes": []any{"n1"}, "until": later},
			"other": map[string]any{"nodes": []any{"n1"}, "until": later, "by": "gate"}, "ended": map[string]any{"nodes": []any{"n1"}, "until": now},
			"endless": map[string]any{"nodes": []any{"n1"}}, "some time": map[string]any{"nodes": []any{"n1"}, "until": "soon"},
			"nowhere": map[string]any{"until": later}, "nobody": map[string]any{"nodes": []any{}, "until": later},
			"many": map[string]any{"nodes": crowd, "until": later}, "no node": map[string]any{"nodes": []any{"n1", "N_2"}, "until": later},
			"numbers": map[string]any{"nodes": []any{int64(1)}, "until": int64(2), "by": false}, "text": "n1",
		}),
		keyed("shop", "theirs", map[string]any{"theirs": map[string]any{"nodes": []any{"n1"}, "until": later}}),
		keyed("odd", objectName, "n1"), keyed("empty", objectName, nil),
	)
	f := follow(t, w)
	type answer struct {
		Nodes []string
		Hold  bool
	}
	want := map[keyID]answer{
		{"shop", "gate"}: {[]string{"n1", "n2"}, true}, {"shop", "names"}: {Nodes: []string{"n1", "n2"}}, {"shop", "absent"}: {Nodes: []string{"n1"}}, {"shop", "other"}: {Nodes: []string{"n1"}},
	}
	for _, uid := range []string{"ended", "endless", "some time", "nowhere", "nobody", "many", "no node", "numbers", "text", "theirs", "", "unknown"} {
		want[keyID{"shop", uid}] = answer{}
	}
	want[keyID{"vault", "gate"}], want[keyID{"odd", "n1"}], want[keyID{"empty", "gate"}] = answer{}, answer{}, answer{}
	got := map[keyID]answer{}
	for of := range want {
		nodes, hold := f.Of(of.namespace, of.pod(), start)
		if len(nodes) == 0 {
			nodes = nil
		}
		got[of] = answer{nodes, hold}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if nodes, _ := f.Of("shop", keyID{"shop", "gate"}.pod(), start.Add(10*time.Second)); len(nodes) > 0 {
		t.Errorf("a key that has ended since: %v", nodes)
	}
}

// Followed sees keys that are set, changed and removed.
func TestFollowedChanges(t *testing.T) {
	w := newWorld()
	f, objects := follow(t, w), w.server.Resource(resource).Namespace("shop")
	next := keyID{"shop", "rs"}.pod()
	until := func(what string, want ...string) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
			nodes, _ := f.Of("shop", next, start)
			return cmp.Equal(want, nodes), nil
		})
		if err != nil {
			nodes, _ := f.Of("shop", next, start)
			t.Fatalf("%s: nodes %v, want %v", what, nodes, want)
		}
	}
	asking, stop := context.WithCancel(t.Context())
	var askers sync.WaitGroup
	for range 4 {
		askers.Go(func() {
			for asking.Err() == nil {
				f.Of("shop", next, start)
			}
		})
	}
	defer askers.Wait()
	defer stop()
	key := func(node string) *unstructured.Unstructured {
		return keyed("shop", objectName, map[string]any{"rs": map[string]any{"nodes": []any{node}, "until": "2026-11-04T02:00:10Z"}})
	}
	until("before")
	if _, err := objects.Create(t.Context(), key("n1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	until("set", "n1")
	if _, err := objects.Update(t.Context(), key("n2"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	until("changed", "n2")
	if err := objects.Delete(t.Context(), objectName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until("gone")
}

// If the context ends before the first list arrives, the wait ends.
func TestFollowedWaitsNoLonger(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if NewFollowed(newWorld().server).Wait(ctx) {
		t.Error("there is a list although none was requested")
	}
}
