package admission

import (
	"net/http"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
)

var start = time.Date(2026, 11, 4, 2, 0, 0, 0, time.UTC)

// world is an API server with Steerings, a ledger and a clock.
type world struct {
	server *dynamicfake.FakeDynamicClient
	keys   *Keys
	ledger *ledger.Ledger
	now    time.Time
	// deposed is the reason why this process does not lead; mu guards it.
	mu      sync.Mutex
	deposed error
}

func (w *world) Leads() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.deposed
}

// depose makes this process stop leading or, if why is nil, lead again.
func (w *world) depose(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deposed = why
}

func newWorld(objects ...runtime.Object) *world {
	w := &world{now: start, ledger: ledger.New(ledger.Config{})}
	kinds := map[schema.GroupVersionResource]string{resource: "SteeringList"}
	w.server = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objects...)
	w.server.PrependReactor("patch", "steerings", w.tested)
	w.keys = NewKeys(w.server, w.ledger, w, func() time.Time { return w.now })
	return w
}

// tested applies JSON patches and fails as the API server does.
func (w *world) tested(action clienttesting.Action) (handled bool, object runtime.Object, err error) {
	if action.(clienttesting.PatchAction).GetPatchType() != types.JSONPatchType {
		return false, nil, nil
	}
	handled, object, err = clienttesting.ObjectReaction(w.server.Tracker())(action)
	if err != nil && !apierrors.IsNotFound(err) {
		err = apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", resource.GroupResource(), objectName, err.Error(), 0, false)
	}
	return handled, object, err
}

// moves records the moves of pods.
func (w *world) moves(of keyID, pods ...string) {
	for _, pod := range pods {
		w.ledger.Record(w.now, ledger.Intent{
			Namespace: of.namespace, Pod: pod, PodUID: "uid-" + pod, Owner: cluster.Owner{UID: of.name, Kind: "ReplicaSet"}, From: "hot", To: "n1",
			Wait: time.Minute, TTL: time.Minute,
		})
	}
}

// replaces deletes a pod and creates another in its place.
func (w *world) replaces(of keyID, pod, by string) {
	w.ledger.Accepted("uid-"+pod, w.now)
	w.ledger.Leaves("uid-"+pod, w.now)
	w.ledger.Created(ledger.Pod{UID: "uid-" + by, Namespace: of.namespace, Name: by, OwnerUID: of.name, OwnerKind: "ReplicaSet", Created: w.now})
}

// targets returns the first node of each key in the API server, by namespace/owner.
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
