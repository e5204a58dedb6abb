package admission

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

var (
	web = keyID{"shop", "rs-web"}
	api = keyID{"shop", "rs-api"}
	db  = keyID{"vault", "sts-db"}
)

// Keys are in the Steering of their namespace while their moves wait for a pod. An owner has one
// key at a time.
func TestKeys(t *testing.T) {
	w, ctx := newWorld(), t.Context()
	set := func(of keyID, pod, node string) error {
		return w.keys.set(ctx, of, "uid-"+pod, to(node, w.now.Add(10*time.Second)))
	}
	want := func(what string, targets map[string]string) {
		t.Helper()
		if diff := cmp.Diff(targets, w.targets(t)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", what, diff)
		}
	}
	for of, pod := range map[keyID]string{web: "web-1", db: "db-0"} {
		w.moves(of, pod)
		if err := set(of, pod, "n1"); err != nil {
			t.Fatal(err)
		}
	}
	want("two", map[string]string{"shop": "", "shop/rs-web": "n1", "vault": "", "vault/sts-db": "n1"})
	if err := set(web, "web-2", "n2"); !errors.Is(err, errTaken) {
		t.Errorf("a second move of an owner: %v", err)
	}
	if err := set(web, "web-1", "n3"); err != nil {
		t.Errorf("the same move again: %v", err)
	}
	if err := set(api, "api-1", "n4"); err != nil {
		t.Error(err)
	}
	want("another owner", map[string]string{"shop": "", "shop/rs-web": "n3", "shop/rs-api": "n4", "vault": "", "vault/sts-db": "n1"})

	if open, err := w.keys.settle(ctx, web); !open || err != nil {
		t.Errorf("a move that waits: open %v, error %v", open, err)
	}
	w.replaces(web, "web-1", "web-9")
	w.ledger.Cancel("uid-db-0", w.now)
	if w.keys.settleAll(ctx) { // api-1 is in no ledger
		t.Error("a key is open still")
	}
	want("settled", map[string]string{"shop": "", "vault": ""})
	if err := w.keys.sweep(ctx); err != nil {
		t.Error(err)
	}
	want("swept", map[string]string{})
}

// Once a key has ended, another move may use it.
func TestKeysEnd(t *testing.T) {
	w := newWorld()
	if err := w.keys.set(t.Context(), web, "web-1", to("n1", start.Add(10*time.Second))); err != nil {
		t.Fatal(err)
	}
	w.now = start.Add(10 * time.Second)
	if err := w.keys.set(t.Context(), web, "web-2", to("n2", start.Add(20*time.Second))); err != nil {
		t.Errorf("after its end: %v", err)
	}
	if diff := cmp.Diff(map[string]string{"shop": "", "shop/rs-web": "n2"}, w.targets(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A Steering holds no more keys than its schema allows. A full Steering does not delay moves in
// other namespaces.
func TestKeysAreBounded(t *testing.T) {
	w := newWorld()
	set := func(of keyID) error {
		w.moves(of, of.name)
		return w.keys.set(t.Context(), of, "uid-"+of.name, to("n1", start.Add(time.Minute)))
	}
	for i := range maxKeys {
		if err := set(keyID{"shop", fmt.Sprint("rs-", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := set(keyID{"shop", "one-more"}); !errors.Is(err, errFull) {
		t.Errorf("one more: %v", err)
	}
	if err := set(db); err != nil {
		t.Errorf("another namespace: %v", err)
	}
}

// A process that no longer leads writes nothing, because its keys may already belong to its
// successor.
func TestWhoDoesNotLeadWritesNoKeys(t *testing.T) {
	w := newWorld()
	w.moves(web, "web-1")
	if err := w.keys.set(t.Context(), web, "uid-web-1", to("n1", start.Add(time.Minute))); err != nil {
		t.Fatal(err)
	}
	w.deposed = errors.New("another leads")
	w.replaces(web, "web-1", "web-9")
	w.keys.settleAll(t.Context())
	w.keys.clear(t.Context(), web, "uid-web-1")
	if err := w.keys.set(t.Context(), db, "uid-db-0", to("n1", start.Add(time.Minute))); !errors.Is(err, w.deposed) {
		t.Errorf("set: %v", err)
	}
	w.now = start.Add(time.Hour)
	if err := w.keys.sweep(t.Context()); !errors.Is(err, w.deposed) {
		t.Errorf("sweep: %v", err)
	}
	if diff := cmp.Diff(map[string]string{"shop": "", "shop/rs-web": "n1"}, w.targets(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// When a move is not made, its own key is removed, but not the key of another move of the same
// owner.
func TestKeysOfOthersStay(t *testing.T) {
	w := newWorld()
	if err := w.keys.set(t.Context(), web, "uid-web-1", to("n1", start.Add(time.Minute))); err != nil {
		t.Fatal(err)
	}
	w.keys.clear(t.Context(), web, "uid-web-2")
	if !w.keys.isOpen(web) {
		t.Error("it was cleared")
	}
}

// A process may clear its key late, because it or its request was stalled. It then does not remove
// a key that another process has set for the owner in the meantime.
func TestAKeyOfAnotherProcessStays(t *testing.T) {
	for name, tc := range map[string]struct {
		uid   string
		later time.Duration
		want  map[string]string
	}{
		"another set it anew":               {"rs-web", 3 * time.Second, map[string]string{"shop": "", "shop/rs-web": "n2"}},
		"of an owner with an odd UID":       {"a/~b", 3 * time.Second, map[string]string{"shop": "", "shop/a/~b": "n2"}},
		"it is its own":                     {"rs-web", 0, map[string]string{"shop": ""}},
		"its own, an owner with an odd UID": {"a/~b", 0, map[string]string{"shop": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			w, of := newWorld(), keyID{"shop", tc.uid}
			if err := w.keys.set(t.Context(), of, "uid-web-1", to("n1", start.Add(10*time.Second))); err != nil {
				t.Fatal(err)
			}
			if tc.later > 0 {
				another := NewKeys(w.server, w.ledger, w, func() time.Time { return w.now })
				if err := another.set(t.Context(), of, "uid-web-2", to("n2", start.Add(tc.later+10*time.Second))); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // the second time, there is no key to clear
				if err := w.keys.end(t.Context(), of, "uid-web-1"); err != nil || w.keys.isOpen(of) {
					t.Errorf("error %v, open %v", err, w.keys.isOpen(of))
				}
			}
			if diff := cmp.Diff(tc.want, w.targets(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Clearing a key that somebody else has removed is not an error. A rejection by the API server is.
func TestClearingWhatIsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		gone bool
		with error
		want bool
	}{
		"the Steering is gone": {gone: true},
		"the key is gone":      {with: apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", resource.GroupResource(), "", "missing", 0, false)},
		"no right":             {with: apierrors.NewForbidden(resource.GroupResource(), objectName, nil), want: true},
	} {
		w := newWorld()
		if err := w.keys.set(t.Context(), web, "uid-web-1", to("n1", start.Add(10*time.Second))); err != nil {
			t.Fatal(err)
		}
		if tc.gone {
			if err := w.server.Tracker().Delete(resource, "shop", objectName); err != nil {
				t.Fatal(err)
			}
		}
		w.server.PrependReactor("patch", "steerings", func(clienttesting.Action) (bool, runtime.Object, error) { return tc.with != nil, nil, tc.with })
		if err := w.keys.end(t.Context(), web, "uid-web-1"); (err != nil) != tc.want {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A key that could not be written does not count as open, so the next move may write its own.
func TestUnwrittenKeys(t *testing.T) {
	w := newWorld()
	silence := errors.New("connection refused")
	w.server.PrependReactor("*", "steerings", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, silence })
	if err := w.keys.set(t.Context(), web, "web-1", to("n1", start.Add(time.Minute))); !errors.Is(err, silence) {
		t.Errorf("error %v", err)
	}
	if w.keys.isOpen(web) {
		t.Error("it counts as open")
	}
}

// midway is a leader that calls a function once, while a key is written.
type midway struct {
	*world
	then func()
}

func (m *midway) Leads() error {
	if then := m.then; then != nil {
		m.then = nil
		then()
	}
	return m.deposed
}

// While a key is being cleared, the next move of its owner waits. Otherwise the key of that move
// would be cleared as well.
func TestAKeyIsNotClearedForThePreviousMove(t *testing.T) {
	w := newWorld()
	leader := &midway{world: w}
	keys := NewKeys(w.server, w.ledger, leader, func() time.Time { return w.now })
	w.moves(web, "web-1", "web-2")
	until := start.Add(10 * time.Second)
	if err := keys.set(t.Context(), web, "uid-web-1", to("n1", until)); err != nil {
		t.Fatal(err)
	}
	w.replaces(web, "web-1", "web-9")
	var early error
	leader.then = func() { early = keys.set(t.Context(), web, "uid-web-2", to("n2", until)) }
	if _, err := keys.settle(t.Context(), web); err != nil {
		t.Fatal(err)
	}
	if _, written := w.targets(t)["shop/rs-web"]; written != (early == nil) {
		t.Errorf("the key is written: %v, but its move got %v", written, early)
	}
	if !errors.Is(early, errTaken) {
		t.Errorf("in the middle: %v", early)
	}
	if err := keys.set(t.Context(), web, "uid-web-2", to("n2", until)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if diff := cmp.Diff(map[string]string{"shop": "", "shop/rs-web": "n2"}, w.targets(t)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Keys that have ended count until they are cleared, because they still count against the schema's
// limit.
func TestEndedKeysAreClearedForNewOnes(t *testing.T) {
	w := newWorld()
	for i := range maxKeys {
		if err := w.keys.set(t.Context(), keyID{"shop", fmt.Sprint("rs-", i)}, "pod", to("n1", start.Add(10*time.Second))); err != nil {
			t.Fatal(err)
		}
	}
	w.now = start.Add(10 * time.Second)
	if err := w.keys.set(t.Context(), web, "uid-web-1", to("n1", w.now.Add(10*time.Second))); err != nil {
		t.Fatal(err)
	}
	if got := len(w.targets(t)) - 1; got > maxKeys { // without the key of the namespace itself
		t.Errorf("%d keys in a Steering that may hold %d", got, maxKeys)
	}
}
