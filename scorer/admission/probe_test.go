package admission

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/names"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// apiServer answers a Probe. From the look steersFrom on, it steers by the keys of a world.
type apiServer struct {
	steersFrom int // negative: never
	forbidden  string
	broken     error
	looks      int
	// ahead is how far its clock is ahead of this process's clock.
	ahead time.Duration
	// beside reports whether another API server, which does not steer, answers every second look.
	beside bool
	// all reports whether everything is allowed, and kind whether the kind of keys exists.
	all, kind bool
}

func (a *apiServer) probe(w *world) *Probe {
	client := fake.NewClientset()
	if a.kind {
		client.Resources = append(client.Resources, &metav1.APIResourceList{GroupVersion: resource.GroupVersion().String()})
	}
	client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview)
		right := review.Spec.ResourceAttributes
		review.Status.Allowed = right.Subresource != a.forbidden && right.Resource != a.forbidden
		if right.Resource == resource.Resource {
			review.Status.Allowed = a.forbidden != resource.Resource
		}
		if right.Resource == "*" {
			review.Status.Allowed = a.all
		}
		return true, review, nil
	})
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		pod := action.(clienttesting.CreateAction).GetObject().(*v1.Pod).DeepCopy()
		a.looks++
		if a.broken != nil {
			return true, nil, a.broken
		}
		if a.steersFrom >= 0 && a.looks > a.steersFrom && (!a.beside || a.looks%2 == 0) {
			object, err := w.server.Tracker().Get(resource, probeNamespace, objectName)
			if err != nil {
				return true, nil, err
			}
			targets, uid := object.(*unstructured.Unstructured).Object, string(pod.OwnerReferences[0].UID)
			until, _, _ := unstructured.NestedString(targets, "targets", uid, "until")
			if ends, err := time.Parse(time.RFC3339, until); err != nil || !w.now.Add(a.ahead).Before(ends) {
				return true, pod, err
			}
			nodes, _, _ := unstructured.NestedStringSlice(targets, "targets", uid, "nodes")
			pod.Annotations = map[string]string{names.Annotation: strings.Join(nodes, ",")}
		}
		return true, pod, nil
	})
	return &Probe{keys: w.keys, client: client}
}

// The API server is proven to steer if a pod with a new key is steered, at once or soon. A process
// that is not allowed to release pods holds none.
func TestProven(t *testing.T) {
	cases := map[string]struct {
		server apiServer
		want   string // part of the error
	}{
		"it steers at once":         {apiServer{forbidden: "none"}, ""},
		"it steers soon":            {apiServer{steersFrom: 5, forbidden: "none"}, ""},
		"its clock is ahead":        {apiServer{ahead: keyLasts, forbidden: "none"}, errUnsteered.Error()},
		"it never steers":           {apiServer{steersFrom: -1, forbidden: "none"}, errUnsteered.Error()},
		"one of two does not steer": {apiServer{beside: true, forbidden: "none"}, errUnsteered.Error()},
		"a dry run is refused":      {apiServer{broken: errors.New("pods is forbidden"), forbidden: "none"}, "pods is forbidden"},
		"gates must not be removed": {apiServer{forbidden: "status"}, ""},
		"it is not installed":       {apiServer{forbidden: "steerings"}, errNotInstalled.Error()},
		"not, for an administrator": {apiServer{forbidden: "none", all: true}, errNotInstalled.Error()},
		"it is, for one":            {apiServer{forbidden: "none", all: true, kind: true}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				proven, err := NewSteering(w.keys, tc.server.probe(w), true, func() time.Time { return w.now }).Proven(t.Context())
				if errors.Is(err, ledger.ErrNotInstalled) != (tc.want == errNotInstalled.Error()) {
					t.Errorf("error %v: is it that it is not installed?", err)
				}
				if proven != (tc.want == "") || tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("proven %v, error %v", proven, err)
				}
				if open := w.keys.isOpen(keyID{probeNamespace, ""}); open || len(w.keys.open) > 0 {
					t.Error("the probe's key is open still")
				}
			})
		})
	}
}

// If the newest replacement went back to its node, something may undo the steering of the API
// server, so the next cycle probes again.
func TestProvenUntilAReplacementReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := NewSteering(w.keys, (&apiServer{forbidden: "none"}).probe(w), true, func() time.Time { return w.now })
		lands := func(pod, by, node string, bound bool) {
			t.Helper()
			w.now = w.now.Add(time.Second)
			w.moves(web, pod)
			if w.ledger.Accepted("uid-"+pod, w.now); bound {
				w.ledger.Leaves("uid-"+pod, w.now)
			} else {
				w.replaces(web, pod, by)
			}
			w.ledger.Bound(ledger.Pod{UID: "uid-" + by, Namespace: web.namespace, Name: by, OwnerUID: web.name, OwnerKind: "ReplicaSet", Created: w.now}, node, w.now)
		}
		for i, step := range []struct {
			pod, by, node string
			bound         bool // by its template
			want          bool
		}{
			{"web-1", "web-7", "n1", false, true},
			{"web-2", "web-8", "hot", true, true},
			{"web-3", "web-9", "hot", false, false},
			{"web-4", "web-10", "n1", true, false},
			{"web-5", "web-11", "n1", false, true},
		} {
			lands(step.pod, step.by, step.node, step.bound)
			if proven, err := s.Proven(t.Context()); proven != step.want || err != nil {
				t.Errorf("step %d: proven %v, error %v", i, proven, err)
			}
		}
	})
}

// An API server that has not steered is not trusted as soon as it does, because another API server
// may not know the kind yet.
func TestProvenAgainOnlyAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, server := newWorld(), &apiServer{forbidden: "none"}
		s := NewSteering(w.keys, server.probe(w), true, func() time.Time { return w.now })
		for i, step := range []struct {
			after  time.Duration
			steers bool
			ready  bool // a move is about to be made
			want   error
		}{
			{steers: true},
			{steers: false, want: errUnsteered},
			{steers: true, want: errSettling},
			{after: settles - time.Second, steers: true, want: errSettling},
			{after: time.Second, steers: true},
			{steers: false, ready: true},
			{steers: true, want: errSettling},
			{after: settles, steers: true},
			{steers: false, want: errUnsteered},
			{after: -time.Hour, steers: true}, // the clock has stepped back
		} {
			w.now = w.now.Add(step.after)
			if server.steersFrom = 0; !step.steers {
				server.steersFrom = -1
			}
			if step.ready {
				s.Ready(t.Context(), &ledger.Leaving{Intent: &ledger.Intent{Namespace: "shop", PodUID: "uid-web-1", Owner: cluster.Owner{UID: web.name}, To: "n1"}})
				continue
			}
			if proven, err := s.Proven(t.Context()); !errors.Is(err, step.want) || proven != (step.want == nil) {
				t.Errorf("step %d: proven %v, error %v, want %v", i, proven, err, step.want)
			}
		}
	})
}

// A move is ready once the API server has seen its key. Another move of the same owner waits until
// then. A move that is not made leaves nothing behind.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, server := newWorld(), &apiServer{steersFrom: 3, forbidden: "none"}
		s := NewSteering(w.keys, server.probe(w), true, func() time.Time { return w.now })
		leaving := func(pod, kind string) *ledger.Leaving {
			return &ledger.Leaving{Intent: &ledger.Intent{
				Namespace: "shop", Pod: pod, PodUID: "uid-" + pod, Owner: cluster.Owner{UID: web.name, Kind: kind}, To: "n1",
			}}
		}
		if _, err := s.Proven(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.moves(web, "web-1", "web-2")
		first, second := leaving("web-1", "ReplicaSet"), leaving("web-2", "ReplicaSet")
		if reason, wait := s.Ready(t.Context(), first); reason != "" || wait {
			t.Errorf("the first: %q, wait %v", reason, wait)
		}
		if until := w.keys.open[web].until; until != start.Add(keyLasts) {
			t.Errorf("the key lasts until %v", until)
		}
		looks := server.looks
		if reason, wait := s.Ready(t.Context(), second); reason != "" || !wait {
			t.Errorf("the second: %q, wait %v", reason, wait)
		}
		if server.looks != looks { // each waiting move checks about five times a second
			t.Errorf("%d requests for a move that has to wait", server.looks-looks)
		}
		if reason, wait := s.Ready(t.Context(), first); reason != "" || wait {
			t.Errorf("the first again, as for a Deployment that is scaled up: %q, wait %v", reason, wait)
		}
		s.Undo(t.Context(), first.Intent)
		server.steersFrom = -1
		if reason, wait := s.Ready(t.Context(), second); reason != reasons.SteeringAbsent || wait || w.keys.isOpen(web) {
			t.Errorf("where nothing steers: %q, wait %v, key open %v", reason, wait, w.keys.isOpen(web))
		}
		server.steersFrom = 0
		if reason, _ := s.Ready(t.Context(), leaving("web-1", "StatefulSet")); reason != "" {
			t.Errorf("a StatefulSet's: %q", reason)
		}
		named := leaving("web-1", "StatefulSet")
		for _, of := range []struct{ kind, want string }{{"StatefulSet", "v1"}, {"CloneSet", "v1"}, {"Job", "v1"}, {"ReplicaSet", ""}} {
			move := leaving("web-1", of.kind)
			move.TemplateHash = "v1"
			if to, suits := s.target(move); to.Template != of.want || !suits {
				t.Errorf("the key of a %s is for pods of the template %q, want %q", of.kind, to.Template, of.want)
			}
		}
		if until := w.keys.open[idOfMove(named.Intent)].until; until != start.Add(keyLasts) {
			t.Errorf("the key of a StatefulSet lasts until %v, whatever its grace period", until)
		}
	})
}

// If held pods could not be released, or no process would be there to release them, pods are
// restricted to node names, provided that names suit them.
func TestReadyByNames(t *testing.T) {
	own := &v1.Pod{Spec: v1.PodSpec{
		NodeSelector: map[string]string{"disk": "ssd"}, TopologySpreadConstraints: []v1.TopologySpreadConstraint{{MaxSkew: 1}},
	}}
	cases := map[string]struct {
		stays     bool
		forbidden string
		pod       *v1.Pod
		nodes     []string
		want      reasons.Reason
		wantBy    string
		wantNodes []any
	}{
		"it stays and may patch pods":    {true, "none", &v1.Pod{}, []string{"n1", "n2"}, "", byGate, []any{"n1"}},
		"it stays and may not":           {true, "status", &v1.Pod{}, []string{"n1", "n2"}, "", byNames, []any{"n1", "n2"}},
		"it ends":                        {false, "none", &v1.Pod{}, []string{"n1", "n2"}, "", byNames, []any{"n1", "n2"}},
		"names change what is counted":   {false, "none", own, []string{"n1", "n2"}, reasons.NamesUnsuited, "", nil},
		"it may preempt":                 {false, "none", &v1.Pod{}, nil, reasons.NamesUnsuited, "", nil},
		"a gate suits any pod, as it is": {true, "none", own, nil, "", byGate, []any{"n1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.moves(web, "web-1")
				s := NewSteering(w.keys, (&apiServer{forbidden: tc.forbidden}).probe(w), tc.stays, func() time.Time { return w.now })
				if _, err := s.Proven(t.Context()); err != nil {
					t.Fatal(err)
				}
				reason, wait := s.Ready(t.Context(), &ledger.Leaving{
					Intent: &ledger.Intent{Namespace: "shop", PodUID: "uid-web-1", Owner: cluster.Owner{UID: web.name, Kind: "ReplicaSet"}, To: "n1"},
					Pod:    tc.pod, Nodes: tc.nodes,
				})
				if reason != tc.want || wait {
					t.Errorf("reason %q, wait %v", reason, wait)
				}
				object, err := w.server.Tracker().Get(resource, "shop", objectName)
				if tc.want != "" {
					if err == nil {
						t.Errorf("a key was set: %v", object)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				key, _, _ := unstructured.NestedMap(object.(*unstructured.Unstructured).Object, "targets", web.name)
				if diff := cmp.Diff([]any{tc.wantBy, tc.wantNodes}, []any{key["by"], key["nodes"]}); diff != "" {
					t.Errorf("key (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Nodes for a replacement are chosen once its owner has no other key. A move without nodes waits,
// even if the other key has been cleared in the meantime.
func TestNodesAreChosenWhenNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.moves(web, "web-1", "web-2")
		s := NewSteering(w.keys, (&apiServer{forbidden: "none"}).probe(w), false, func() time.Time { return w.now })
		leaving := func(pod string) *ledger.Leaving {
			return &ledger.Leaving{
				Intent: &ledger.Intent{Namespace: "shop", PodUID: "uid-" + pod, Owner: cluster.Owner{UID: web.name, Kind: "ReplicaSet"}, To: "n1"}, Pod: &v1.Pod{},
			}
		}
		for i, step := range []struct {
			pod             string
			comes           bool // whether the first replacement arrives between the two calls
			restricts, wait bool
		}{
			{pod: "web-1", restricts: true},
			{pod: "web-2", wait: true},
			{pod: "web-2", comes: true, wait: true},
			{pod: "web-2", restricts: true},
		} {
			move := leaving(step.pod)
			restricts := s.Restricts(move)
			if restricts {
				move.Nodes = []string{"n1", "n2"}
			}
			if step.comes {
				w.replaces(web, "web-1", "web-9")
			}
			reason, wait := s.Ready(t.Context(), move)
			if restricts != step.restricts || wait != step.wait || reason != "" {
				t.Errorf("step %d: nodes are looked for: %v; reason %q, wait %v", i, restricts, reason, wait)
			}
		}
	})
}

// Drain returns once the replacements have arrived or their keys have expired, and leaves nothing.
// Without keys, it sends no request.
// nothing.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		began := time.Now()
		clock := func() time.Time { return start.Add(time.Since(began)) }
		w.keys.now = clock
		s := NewSteering(w.keys, (&apiServer{}).probe(w), true, clock)
		if s.Drain(t.Context()); len(w.server.Actions()) > 0 || time.Since(began) > 0 {
			t.Errorf("without a key: %v", w.server.Actions())
		}
		drains := func(least time.Duration) {
			t.Helper()
			if err := w.keys.set(t.Context(), web, "uid-web-1", to("n1", clock().Add(10*time.Second))); err != nil {
				t.Fatal(err)
			}
			if least == 0 {
				w.keys.settleAll(t.Context())
			}
			from := time.Now()
			s.Drain(t.Context())
			if took := time.Since(from); took < least || took > least+time.Second {
				t.Errorf("it took %v, want %v", took, least)
			}
			if diff := cmp.Diff(map[string]string{}, w.targets(t)); diff != "" {
				t.Errorf("left behind (-want +got):\n%s", diff)
			}
		}
		w.moves(web, "web-1")
		drains(10 * time.Second)
		time.AfterFunc(time.Second, func() { w.replaces(web, "web-1", "web-9") })
		drains(time.Second)
		drains(0) // its replacement is known
	})
}

// A namespace that rejects keys does not stop moves in others. An unreachable API server stops all
// moves.
func TestReadyWhereKeysAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want reasons.Reason
	}{
		"the namespace is being deleted, or a webhook denies it": {apierrors.NewForbidden(resource.GroupResource(), objectName, nil), reasons.SteeringRefused},
		"someone else has filled the Steering":                   {apierrors.NewInvalid(schema.GroupKind{Kind: "Steering"}, objectName, nil), reasons.SteeringRefused},
		"the kind is gone":                                       {apierrors.NewNotFound(resource.GroupResource(), objectName), reasons.SteeringAbsent},
		"the API server is away":                                 {errors.New("connection refused"), reasons.SteeringAbsent},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.server.PrependReactor("create", "steerings", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
			s := NewSteering(w.keys, (&apiServer{}).probe(w), true, func() time.Time { return w.now })
			move := &ledger.Intent{Namespace: "shop", PodUID: "uid-web-1", Owner: cluster.Owner{UID: web.name, Kind: "ReplicaSet"}, To: "n1"}
			if reason, wait := s.Ready(t.Context(), &ledger.Leaving{Intent: move, Pod: &v1.Pod{}, Nodes: []string{"n1"}}); reason != tc.want || wait {
				t.Errorf("%q, wait %v", reason, wait)
			}
		})
	}
}
