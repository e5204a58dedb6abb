package admission

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
)

const hour = time.Hour

// leaves records the move of a pod that takes an hour to terminate, sets its key and evicts it.
func (w *world) leaves(t *testing.T, kind, owner, pod, node string) keyID {
	t.Helper()
	intent := ledger.Intent{
		Namespace: "shop", Pod: pod, PodUID: "uid-" + pod, Owner: cluster.Owner{UID: owner, Kind: kind}, From: "hot", To: node,
		Wait: time.Minute, TTL: hour + 5*time.Minute, Margin: 5 * time.Minute,
	}
	w.ledger.Record(w.now, intent)
	of := idOfMove(&intent)
	if err := w.keys.set(t.Context(), of, intent.PodUID, to(node, w.now.Add(keyLasts))); err != nil {
		t.Fatal(err)
	}
	w.ledger.Accepted(intent.PodUID, w.now)
	w.ledger.Leaves(intent.PodUID, w.now)
	return of
}

// comes creates a pod of the owner.
func (w *world) comes(kind, owner, pod, uid string) {
	w.ledger.Created(ledger.Pod{UID: uid, Namespace: "shop", Name: pod, OwnerUID: owner, OwnerKind: kind, Created: w.now})
}

// passes lets time pass, during which this process checks its keys from time to time.
func (w *world) passes(t *testing.T, d time.Duration) {
	t.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(keepPause)
		w.keys.settleAll(t.Context())
	}
}

// succeeded makes another process lead, one that has read the ledger.
func (w *world) succeeded() *world {
	next := &world{server: w.server, ledger: ledger.New(ledger.Config{}), now: w.now}
	next.ledger.Adopt(w.ledger.Export(), w.now)
	next.keys = NewKeys(w.server, next.ledger, next, func() time.Time { return next.now })
	return next
}

// steering returns a Steering in the namespace shop with these keys.
func steering(targets map[string]any) *unstructured.Unstructured {
	return keyed("shop", objectName, targets)
}

// steered returns the node to which each pod would be steered if it were created now, on an API
// server whose clock is off by skew.
func (w *world) steered(t *testing.T, kind, owner string, skew time.Duration, pods ...string) (nodes []string) {
	t.Helper()
	f := NewFollowed(w.server)
	ctx, stop := context.WithCancel(t.Context())
	running := make(chan struct{})
	go func() {
		defer close(running)
		f.Run(ctx)
	}()
	defer func() { <-running }()
	defer stop()
	if !f.Wait(ctx) {
		t.Fatal("no list came")
	}
	for _, name := range pods {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, OwnerReferences: []metav1.OwnerReference{{Kind: kind, UID: types.UID(owner), Controller: new(true)}},
		}}
		to, _ := f.Of("shop", pod, w.now.Add(skew))
		nodes = append(nodes, append(to, "")[0])
	}
	return nodes
}

// A key is for one pod of its StatefulSet. If a process renews the key, it lasts until that pod has
// been recreated. Otherwise it ends within seconds, however long the pod may take.
func TestAKeyLastsAsLongAsItsMove(t *testing.T) {
	for name, tc := range map[string]struct {
		kind string
		pods []string // only the first is recreated
		want []string
	}{
		"StatefulSet": {"StatefulSet", []string{"db-0", "db-1", "db-9"}, []string{"n1", "", ""}},
		"Job":         {"Job", []string{"db-0", "db-1"}, []string{"n1", "n1"}}, // pod names say nothing
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.leaves(t, tc.kind, "set", "db-0", "n1")
			nobody := make([]string, len(tc.pods))
			for range 3 {
				w.passes(t, 5*time.Minute)
				if diff := cmp.Diff(tc.want, w.steered(t, tc.kind, "set", 0, tc.pods...)); diff != "" {
					t.Fatalf("at %v (-want +got):\n%s", w.now, diff)
				}
				for _, skew := range []time.Duration{0, -5 * time.Second, 5 * time.Second} {
					gone := keyLasts - skew
					if got := w.steered(t, tc.kind, "set", gone+skew, tc.pods...); !slices.Equal(got, nobody) {
						t.Fatalf("%v after the process was killed pods are steered to %v", gone, got)
					}
				}
			}
			w.comes(tc.kind, "set", "db-0", "again")
			w.keys.settleAll(t.Context())
			if diff := cmp.Diff(map[string]string{"shop": ""}, w.targets(t)); diff != "" {
				t.Errorf("the pod has come (-want +got):\n%s", diff)
			}
		})
	}
}

// A key ends with its move. The move ends when the owner no longer wants such a pod, or when no
// replacement arrives in time after the old pod is gone, which may be long before the end of the
// grace period.
func TestAKeyEndsWithItsMove(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(*world)
		within  time.Duration
	}{
		"its owner was scaled down":       {func(w *world) { w.ledger.CancelOwner("shop", "set", 1, w.now) }, keepPause},
		"the pod has gone":                {func(w *world) { w.ledger.Left("uid-db-0", w.now) }, 5*time.Minute + keyLasts},
		"the pod terminates until it may": {func(*world) {}, hour + 5*time.Minute + keyLasts},
		"the namespace is being deleted": {func(w *world) {
			w.ledger.CancelOwner("shop", "set", 1<<30, w.now)
			_ = w.server.Tracker().Delete(resource, "shop", objectName)
		}, keepPause},
		"the pod has come and left at once": {func(w *world) { w.ledger.Left("uid-db-0", w.now); w.comes("StatefulSet", "set", "db-0", "again") }, keepPause},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			of := w.leaves(t, "StatefulSet", "set", "db-0", "n1")
			w.passes(t, time.Minute)
			if !w.keys.isOpen(of) {
				t.Fatal("it has ended already")
			}
			tc.happens(w)
			w.passes(t, tc.within)
			if _, left := w.targets(t)["shop/set/db-0"]; left || w.keys.isOpen(of) {
				t.Errorf("%v later it is there: %v, open: %v", tc.within, left, w.keys.isOpen(of))
			}
		})
	}
}

// Pods of one StatefulSet that move at the same time each have a key.
func TestEachPodOfAStatefulSetHasItsKey(t *testing.T) {
	w := newWorld()
	w.leaves(t, "StatefulSet", "set", "db-0", "n1")
	w.leaves(t, "StatefulSet", "set", "db-1", "n2")
	if diff := cmp.Diff([]string{"n1", "n2", ""}, w.steered(t, "StatefulSet", "set", 0, "db-0", "db-1", "db-2")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	w.comes("StatefulSet", "set", "db-1", "again")
	w.passes(t, keepPause)
	if diff := cmp.Diff([]string{"n1", "", ""}, w.steered(t, "StatefulSet", "set", 0, "db-0", "db-1", "db-2")); diff != "" {
		t.Errorf("one has come (-want +got):\n%s", diff)
	}
}

// A process that stops leaves no key that still steers, by any clock. The next leader makes the
// keys of moves in flight steer again, to the same nodes.
func TestTheNextLeaderTakesKeysOver(t *testing.T) {
	for name, stops := range map[string]func(*world){
		"stopped":                      func(w *world) { w.keys.suspend(t.Context()) },
		"killed":                       func(w *world) { w.now = w.now.Add(keyLasts) },
		"killed, and replaced at once": func(*world) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.leaves(t, "StatefulSet", "set", "db-0", "n1")
			w.leaves(t, "StatefulSet", "set", "db-1", "n2")
			w.leaves(t, "Job", "job", "batch-x", "n3")
			w.passes(t, time.Minute)
			w.comes("StatefulSet", "set", "db-1", "again") // nobody clears the key
			stops(w)
			if got := w.steered(t, "StatefulSet", "set", -5*time.Second, "db-0"); name == "stopped" && got[0] != "" {
				t.Errorf("a pod is steered to %v although no process is running", got)
			}
			next := w.succeeded()
			if err := next.keys.sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]string{"shop": "", "shop/set/db-0": "n1", "shop/job": "n3"}, next.targets(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			next.passes(t, 10*time.Minute)
			if got := next.steered(t, "StatefulSet", "set", 0, "db-0"); got[0] != "n1" {
				t.Errorf("ten minutes later the pod is steered to %v", got)
			}
			next.comes("StatefulSet", "set", "db-0", "again as well")
			next.keys.settleAll(t.Context())
			if _, left := next.targets(t)["shop/set/db-0"]; left {
				t.Error("the pod has come and its key is left")
			}
		})
	}
}

// Keys without a move in flight are cleared, however long they would last: keys of earlier
// versions, which are per StatefulSet, keys of moves that have ended, and keys that cannot belong
// to any move. Other objects stay.
func TestSweep(t *testing.T) {
	key := func(node string, until time.Duration) map[string]any {
		return map[string]any{"nodes": []any{node}, "until": start.Add(until).Format(time.RFC3339), "by": byNames}
	}
	w := newWorld(
		steering(map[string]any{
			"set": key("n1", hour), "set/db-0": key("n1", 0), "set/db-9": key("n1", hour), "ended": key("n1", hour), "strange": key("n1", -hour),
			"job": key("n2", time.Second), "elsewhere": key("n7", hour), "odd": "n1", "timeless": map[string]any{"nodes": []any{"n1"}},
		}),
		keyed("vault", objectName, map[string]any{"set": key("n1", hour)}), keyed("empty", objectName, map[string]any{}),
		keyed(probeNamespace, objectName, map[string]any{"dead": key("n1", hour)}), keyed("theirs", "another", map[string]any{"set": key("n1", -hour)}),
	)
	record := func(kind, owner, pod, node string) {
		w.ledger.Record(start, ledger.Intent{
			Namespace: "shop", Pod: pod, PodUID: "uid-" + pod, Owner: cluster.Owner{UID: owner, Kind: kind}, From: "hot", To: node, TTL: hour,
		})
		w.ledger.Leaves("uid-"+pod, start)
	}
	record("StatefulSet", "set", "db-0", "n1")
	record("Job", "job", "batch-1", "n1")
	record("Job", "job", "batch-2", "n2")
	record("ReplicaSet", "elsewhere", "web-1", "n1")
	record("ReplicaSet", "timeless", "web-2", "n1")
	record("ReplicaSet", "ended", "web-3", "n1")
	w.comes("ReplicaSet", "ended", "web-4", "again")
	if err := w.keys.sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"shop": "", "shop/set/db-0": "n1", "shop/job": "n2", "theirs": "", "theirs/set": "n1"}
	if diff := cmp.Diff(want, w.targets(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := w.steered(t, "StatefulSet", "set", keyLasts-time.Second, "db-0", "db-9"); !slices.Equal(got, []string{"n1", ""}) {
		t.Errorf("what was taken over steers to %v", got)
	}
}

// A key that somebody else has changed or removed is not renewed. It is read again, and taken over
// if its move is still in flight.
func TestKeysThatOthersChange(t *testing.T) {
	w := newWorld()
	of := w.leaves(t, "StatefulSet", "set", "db-0", "n1")
	another := w.succeeded()
	if err := another.keys.set(t.Context(), of, "uid-db-0", to("n1", start.Add(30*time.Second))); err != nil {
		t.Fatal(err)
	}
	w.passes(t, keyLasts)
	if w.keys.isOpen(of) || !w.keys.differ() {
		t.Errorf("open %v, differs %v", w.keys.isOpen(of), w.keys.differ())
	}
	if err := w.keys.sweep(t.Context()); err != nil || !w.keys.isOpen(of) || w.keys.differ() {
		t.Errorf("after a look: error %v, open %v, differs %v", err, w.keys.isOpen(of), w.keys.differ())
	}
	if err := w.server.Tracker().Delete(resource, "shop", objectName); err != nil {
		t.Fatal(err)
	}
	w.passes(t, time.Minute)
	if w.keys.isOpen(of) || len(w.targets(t)) > 0 {
		t.Errorf("open %v, with %v", w.keys.isOpen(of), w.targets(t))
	}
}

// While the API server refuses writes, a key ends. Once writes succeed again, the key is renewed.
func TestRenewalsAreTriedAgain(t *testing.T) {
	for name, err := range map[string]error{
		"it conflicts": apierrors.NewConflict(resource.GroupResource(), objectName, nil), "the API server is away": errors.New("connection refused"),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			of := w.leaves(t, "StatefulSet", "set", "db-0", "n1")
			away := err
			w.server.PrependReactor("patch", "steerings", func(clienttesting.Action) (bool, runtime.Object, error) { return away != nil, nil, away })
			w.passes(t, time.Minute)
			if got := w.steered(t, "StatefulSet", "set", 0, "db-0"); got[0] != "" || !w.keys.isOpen(of) {
				t.Errorf("steered to %v, open %v", got, w.keys.isOpen(of))
			}
			away = nil
			w.passes(t, keepPause)
			if got := w.steered(t, "StatefulSet", "set", 0, "db-0"); got[0] != "n1" {
				t.Errorf("steered to %v", got)
			}
		})
	}
}

// Keep clears keys and takes them over when it starts, renews them while it runs, and leaves the key of a probe alone.
// It does none of this while another process leads.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		began := time.Now()
		clock := func() time.Time { return start.Add(time.Since(began)) }
		w.leaves(t, "StatefulSet", "set", "db-0", "n1")
		w.leaves(t, "StatefulSet", "set", "db-1", "n1")
		w.keys.suspend(t.Context())
		w.comes("StatefulSet", "set", "db-1", "again")
		next := w.succeeded()
		next.depose(errors.New("it has not read the ledger yet"))
		next.keys.now = clock
		s := NewSteering(next.keys, (&apiServer{forbidden: "none"}).probe(next), true, clock)
		keeping, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Keep(keeping)
		}()
		t.Cleanup(func() { <-done })
		time.Sleep(time.Minute + time.Second) // between two checks
		if _, left := w.targets(t)["shop/set/db-1"]; !left {
			t.Error("a process that does not lead has cleared a key")
		}
		next.depose(nil)
		time.Sleep(keepPause + time.Second)
		probe := keyID{probeNamespace, "probe"}
		if err := next.keys.set(t.Context(), probe, "probe", to("n1", clock().Add(keyLasts))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		want := map[string]string{"shop": "", "shop/set/db-0": "n1", probeNamespace: "", probeNamespace + "/probe": "n1"}
		if diff := cmp.Diff(want, w.targets(t)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		next.keys.clear(t.Context(), probe, "probe")
		time.Sleep(10 * time.Minute)
		if until := endOf(targetsOf(t, w), "set/db-0"); until.Before(clock()) || until.After(clock().Add(keyLasts)) {
			t.Errorf("at %v the key lasts until %v", clock(), until)
		}
		cancel()
		<-done // as at the end of a process, because a renewal in progress would outlast Stop
		s.Stop(t.Context())
		if until := endOf(targetsOf(t, w), "set/db-0"); until.After(clock().Add(-5 * time.Second)) {
			t.Errorf("stopped at %v, the key lasts until %v", clock(), until)
		}
		next.depose(errors.New("another leads"))
	})
}

func targetsOf(t *testing.T, w *world) map[string]any {
	t.Helper()
	object, err := w.server.Tracker().Get(resource, "shop", objectName)
	if err != nil {
		t.Fatal(err)
	}
	targets, _, _ := unstructured.NestedMap(object.(*unstructured.Unstructured).Object, "targets")
	return targets
}

// A process that is about to end waits for the pods of its own keys, but not for pods that an
// earlier process evicted.
func TestDrainWaitsForItsOwnKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		began := time.Now()
		clock := func() time.Time { return start.Add(time.Since(began)) }
		w.leaves(t, "StatefulSet", "set", "db-0", "n1")
		next := w.succeeded()
		next.keys.now = clock
		s := NewSteering(next.keys, (&apiServer{forbidden: "none"}).probe(next), false, clock)
		drains := func(want time.Duration) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			from := time.Now()
			if s.Drain(ctx); time.Since(from).Truncate(time.Second) != want {
				t.Errorf("it took %v, want %v", time.Since(from), want)
			}
		}
		s.Settle(t.Context())
		if !next.keys.isOpen(keyID{"shop", "set/db-0"}) {
			t.Fatal("the key was not taken over")
		}
		drains(0)
		next.leaves(t, "StatefulSet", "set", "db-1", "n1")
		drains(time.Minute)
	})
}
