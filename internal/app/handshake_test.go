package app

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/ledger/configmap"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
)

// starting returns a process that is about to evict, with a stored ledger of the given content. If
// content is nil, no ledger is stored.
func starting(t *testing.T, content []byte, change ...func(*flags.Options)) (a *evicting, sent chan string) {
	t.Helper()
	inNamespace := func(o *flags.Options) { o.Namespace = "ns" }
	sent = make(chan string, 10)
	a = evictingOffline(t, offline(t, fake.NewClientset(), byUsage, append([]func(*flags.Options){inNamespace}, change...)...), sent)
	var err error
	if a.process.current().evictor, err = a.newEvictor(a.process.current()); err != nil {
		t.Fatal(err)
	}
	if content != nil {
		object := &v1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: evictor.ConfigMapName, ResourceVersion: "1"},
			BinaryData: map[string][]byte{configmap.Key: content},
		}
		if _, err := a.process.kube.Client.CoreV1().ConfigMaps("ns").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return a, sent
}

func (a *evicting) storedLedger(t *testing.T) *v1.ConfigMap {
	t.Helper()
	object, err := a.process.kube.Client.CoreV1().ConfigMaps("ns").Get(t.Context(), evictor.ConfigMapName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func (a *evicting) store(t *testing.T, content []byte) {
	t.Helper()
	object := a.storedLedger(t)
	object.ResourceVersion, object.BinaryData[configmap.Key] = "2", content
	if _, err := a.process.kube.Client.CoreV1().ConfigMaps("ns").Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// told returns the Events recorded so far.
func told(sent chan string) (all []string) {
	for len(sent) > 0 {
		all = append(all, <-sent)
	}
	return all
}

// leftBehind returns the ledger of a predecessor that evicted one pod.
func leftBehind(t *testing.T, a *evicting) []byte {
	t.Helper()
	moves := ledger.New(ledger.Config{})
	moves.Record(a.process.kube.Clock.Now(), ledger.Intent{Namespace: "ns", Pod: "web-1", PodUID: "uid-1", From: "hot", To: "cool", TTL: time.Hour})
	moves.Accepted("uid-1", a.process.kube.Clock.Now())
	document := moves.Export()
	document.Writer, document.Generation = "predecessor", 7
	packed, err := document.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// A process that starts or takes over with a ledger that it cannot read runs no cycle, counts each attempt as a failed
// cycle, and writes nothing. Once the ledger is restored, it continues with the moves that its predecessor had in
// flight.
func TestAnUnreadableLedgerIsNotTakenOver(t *testing.T) {
	garbage := []byte("not what you think")
	a, sent := starting(t, garbage)
	for range 2 {
		if err := a.cycle(t.Context()); !errors.Is(err, configmap.ErrUnreadable) {
			t.Fatalf("a cycle began: %v", err)
		}
		if err := a.process.authority.Commit(t.Context()); !errors.Is(err, configmap.ErrUnreadable) || a.process.authority.Stored() {
			t.Fatalf("it was written over: %v", err)
		}
	}
	if diff := cmp.Diff(map[string][]byte{configmap.Key: garbage}, a.storedLedger(t).BinaryData); diff != "" {
		t.Errorf("what is stored has changed (-want +got):\n%s", diff)
	}
	if got := told(sent); len(got) != 1 || !strings.HasPrefix(got[0], "Warning LedgerUnreadable ") {
		t.Errorf("Events %q", got)
	}
	failed := `
		# HELP evenkeel_cycles_total Descheduling cycles by result.
		# TYPE evenkeel_cycles_total counter
		evenkeel_cycles_total{result="error"} 2
		evenkeel_cycles_total{result="success"} 0
	`
	if err := testutil.GatherAndCompare(a.process.registry, strings.NewReader(failed), "evenkeel_cycles_total"); err != nil {
		t.Error(err)
	}
	a.store(t, leftBehind(t, a))
	if err := a.takeLedger(t.Context()); err != nil {
		t.Fatal(err)
	}
	if move, ok := a.process.observer.Ledger().Get("uid-1"); !ok || move.State != ledger.Evicted {
		t.Errorf("the predecessor's move is %+v", move)
	}
	if err := a.process.authority.Commit(t.Context()); err != nil || !a.process.authority.Stored() {
		t.Errorf("storing: %v", err)
	}
}

// After a person accepts the loss of an unreadable ledger, with the command that the Event shows, the next cycle
// continues without it. The stored content is kept.
func TestAnAcceptedLossIsFinal(t *testing.T) {
	garbage := []byte("not what you think")
	a, sent := starting(t, garbage)
	if err := a.takeLedger(t.Context()); !errors.Is(err, configmap.ErrUnreadable) || a.process.authority.Unreadable() == nil {
		t.Fatalf("the ledger was taken over: %v", err)
	}
	events := told(sent)
	_, value, found := strings.Cut(strings.Join(events, ""), "kubectl -n ns annotate --overwrite configmap evenkeel-ledger "+configmap.AcceptAnnotation+"=")
	value, _, _ = strings.Cut(value, ";")
	if !found || len(value) != 16 {
		t.Fatalf("no command in %q", events)
	}
	object := a.storedLedger(t)
	object.ResourceVersion, object.Annotations = "2", map[string]string{configmap.AcceptAnnotation: value}
	if _, err := a.process.kube.Client.CoreV1().ConfigMaps("ns").Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func(context.Context) error{a.takeLedger, a.process.authority.Commit} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ledger.Decode(a.storedLedger(t).BinaryData[configmap.Key]); err != nil || a.process.authority.Unreadable() != nil {
		t.Errorf("what is stored now: %v", err)
	}
	kept, err := a.process.kube.Client.CoreV1().ConfigMaps("ns").Get(t.Context(), "evenkeel-ledger-set-aside-1", metav1.GetOptions{})
	if err != nil || string(kept.BinaryData[configmap.Key]) != string(garbage) {
		t.Errorf("kept %+v, %v", kept, err)
	}
	if got := told(sent); len(got) != 1 || !strings.HasPrefix(got[0], "Warning LedgerSetAside ") {
		t.Errorf("Events %q", got)
	}
}

// A process that holds the ledger restores it if it is damaged. A dry run evicts nothing, so it
// continues without the ledger.
func TestAnUnreadableLedgerIsRestoredByItsHolder(t *testing.T) {
	a, sent := starting(t, nil)
	for _, step := range []func(context.Context) error{a.takeLedger, a.process.authority.Commit} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	a.store(t, []byte("not what you think"))
	for _, step := range []func(context.Context) error{a.takeLedger, a.process.authority.Commit} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ledger.Decode(a.storedLedger(t).BinaryData[configmap.Key]); err != nil {
		t.Errorf("it was not restored: %v", err)
	}
	if got := told(sent); len(got) != 1 || !strings.HasPrefix(got[0], "Warning LedgerSetAside ") {
		t.Errorf("Events %q", got)
	}
	dry, _ := starting(t, []byte("not what you think"), func(o *flags.Options) { o.DryRun = true })
	if err := dry.takeLedger(t.Context()); err != nil {
		t.Errorf("a dry run: %v", err)
	}
}

// A loop with an unreadable ledger stays alive, because it also answers kube-scheduler. A single run fails.
func TestLoopsOutliveAnUnreadableLedger(t *testing.T) {
	for name, tc := range map[string]struct {
		interval time.Duration
		lives    time.Duration
	}{
		"a single run": {0, 0},
		"a loop":       {time.Minute, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, _ := starting(t, []byte("not what you think"), func(o *flags.Options) { o.Interval = tc.interval })
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				err := a.cycles(ctx)
				if failed := errors.Is(err, configmap.ErrUnreadable); failed != (tc.interval == 0) || time.Since(began) < tc.lives {
					t.Errorf("it ended with %v after %v", err, time.Since(began))
				}
				if got := a.storedLedger(t).BinaryData; len(got) != 1 {
					t.Errorf("written over: %d keys", len(got))
				}
			})
		})
	}
}

// A new leader follows the policy that is in effect when it starts to lead, not the one with which
// the process started. Only the second policy here needs the ledger, so a missing permission for
// the Lease is no reason to lead without it.
func TestALeaderBeginsByThePolicyAtWork(t *testing.T) {
	a, _ := starting(t, nil)
	next := a.process.current()
	file, err := policy.Load("policy.yaml", []byte(byDuplicates), kinds.All)
	if err != nil {
		t.Fatal(err)
	}
	first, err := a.process.readPolicy(file, []byte(byDuplicates), 2)
	if err != nil {
		t.Fatal(err)
	}
	a.process.kube.Client.(*fake.Clientset).PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, evictor.ConfigMapName, nil)
	})
	a.process.active.Store(first)
	leading := a.cycles // the policy changes while the process waits for the Lease
	a.process.active.Store(next)
	if err := leading(t.Context()); !apierrors.IsForbidden(err) || a.process.authority.Alone() {
		t.Errorf("it leads with %v, alone %v", err, a.process.authority.Alone())
	}
}
