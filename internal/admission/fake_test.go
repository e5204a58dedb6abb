package admission

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/evenkeel/evenkeel/ledger"
)

var start = time.Date(2026, 11, 4, 2, 0, 0, 0, time.UTC)

// moves are those of a ledger, by the UID of their pods.
type moves map[string]*ledger.Move

func (m moves) Get(podUID string) (ledger.Move, bool) {
	move, known := m[podUID]
	if !known {
		return ledger.Move{}, false
	}
	return *move, true
}

// world is an API server with Steerings, moves and a time.
type world struct {
	server *dynamicfake.FakeDynamicClient
	keys   *Keys
	moves  moves
	now    time.Time
}

func newWorld(objects ...runtime.Object) *world {
	w := &world{now: start, moves: moves{}}
	kinds := map[schema.GroupVersionResource]string{resource: "SteeringList"}
	w.server = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
	w.keys = NewKeys(w.server, w.moves, func() time.Time { return w.now })
	return w
}

// targets returns the keys that the API server holds, as namespace/owner, with
// their first nodes.
func (w *world) targets(t *testing.T) map[string]string {
	t.Helper()
	list, err := w.server.Tracker().List(resource, resource.GroupVersion().WithKind("Steering"), "")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, item := range list.(*unstructured.UnstructuredList).Items {
		targets, _, err := unstructured.NestedMap(item.Object, "targets")
		if err != nil {
			t.Fatal(err)
		}
		found[item.GetNamespace()] = ""
		for uid := range targets {
			nodes, _, err := unstructured.NestedStringSlice(targets, uid, "nodes")
			if err != nil || len(nodes) == 0 {
				t.Fatalf("nodes %v, error %v", nodes, err)
			}
			found[item.GetNamespace()+"/"+uid] = nodes[0]
		}
	}
	return found
}

func to(node string, until time.Time) target {
	return target{Nodes: []string{node}, Until: until, By: byGate}
}
