package leadership

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/pause"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

type moves struct{ ledger *ledger.Ledger }

func (m moves) Ledger() *ledger.Ledger { return m.ledger }
func (moves) Adopt(ledger.Document)    {}

type clock struct{}

func (clock) Now() time.Time   { return time.Now() }
func (clock) Local() time.Time { return time.Now() }

// office returns an Authority for a cluster with these objects.
func office(t *testing.T, client *fake.Clientset, change func(*Config)) (*Authority, *prometheus.Registry) {
	t.Helper()
	lease, err := NewLease(LeaseConfig{Client: client, Namespace: "ns", Name: "lease"})
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	killSwitch := pause.NewSwitch(client, "ns", evictor.ConfigMapName, registry)
	config := Config{
		Client: client, Namespace: "ns", Lease: lease, Switch: killSwitch, Moves: moves{ledger.New(ledger.Config{})},
		Clock: clock{}, Registry: registry, Report: func(error) {},
	}
	change(&config)
	a, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return a, registry
}

// gauges returns the values of a metric by reason.
func gauges(t *testing.T, registry *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			reason := ""
			for _, label := range metric.GetLabel() {
				reason = label.GetValue()
			}
			values[reason] = metric.GetGauge().GetValue()
		}
	}
	return values
}

// forbidAll makes the API server deny reading ConfigMaps.
func forbidAll(client *fake.Clientset) {
	client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "x", errors.New("no rule"))
	})
}

func pauseObject() *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: pause.Name}}
}

// A process that is allowed to read neither ConfigMap stops, unless it needs no ledger and has not
// taken one over. It then still obeys a kill switch that it is allowed to read.
func TestPausedByRights(t *testing.T) {
	for name, tc := range map[string]struct {
		needed, alone bool
		want          reasons.Reason
	}{
		"it needs the ledger": {needed: true, want: reasons.PauseUnreadable},
		"it needs no ledger":  {alone: true},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			forbidAll(client)
			a, registry := office(t, client, func(*Config) {})
			if err := a.Take(t.Context(), tc.needed); (err == nil) != tc.alone || a.Alone() != tc.alone {
				t.Fatalf("taking the ledger over: %v, alone %v", err, a.Alone())
			}
			err := a.Paused(t.Context())
			refusal, _ := errors.AsType[*reasons.Refusal](err)
			if refusal == nil {
				refusal = &reasons.Refusal{}
			}
			if refusal.Reason != tc.want || a.Pause().Reason != tc.want {
				t.Errorf("paused: %v", err)
			}
			unreadable := 0.0
			if tc.want != "" {
				unreadable = 1
			}
			if diff := cmp.Diff(map[string]float64{"paused": 0, "pause_unreadable": unreadable}, gauges(t, registry, "evenkeel_evictions_paused")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A metric shows that a leader cannot store the ledger. It is reset when the leader can or another
// process leads.
func TestUnwritableLedgerIsExported(t *testing.T) {
	client, refused := fake.NewClientset(), false
	client.PrependReactor("*", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if reads := action.GetVerb() == "get"; reads || !refused {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "x", errors.New("no rule"))
	})
	a, registry := office(t, client, func(*Config) {})
	if err := a.Take(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		refused, follows bool
		want             float64
	}{{want: 0}, {refused: true, want: 1}, {refused: true, follows: true, want: 0}, {want: 0}} {
		a.config.Lease.elected.Store(false)
		refused = step.refused
		if err := a.Commit(t.Context()); (err != nil) != step.refused {
			t.Errorf("step %d: storing the ledger: %v", i, err)
		}
		a.config.Lease.elected.Store(step.follows) // elected once, but no longer leading
		if got := gauges(t, registry, "evenkeel_ledger_unwritable")[""]; got != step.want {
			t.Errorf("step %d: gauge %v, want %v", i, got, step.want)
		}
	}
}

// A metric shows whether the process is a dry run.
func TestDryRunIsExported(t *testing.T) {
	for dryRun, want := range map[bool]float64{false: 0, true: 1} {
		_, registry := office(t, fake.NewClientset(), func(c *Config) { c.DryRun = dryRun })
		if diff := cmp.Diff(map[string]float64{"": want}, gauges(t, registry, "evenkeel_evictions_dry_run")); diff != "" {
			t.Errorf("dry run %v (-want +got):\n%s", dryRun, diff)
		}
	}
}

// Reports and metrics show the kill switch with a delay of at most pauseInterval, even if there is
// nothing to evict. A deleted ledger does not change that.
func TestWatchPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(&v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: evictor.ConfigMapName}})
		a, registry := office(t, client, func(*Config) {})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		var paused atomic.Bool
		go func() { done <- a.WatchPause(ctx, paused.Store) }()
		configMaps := client.CoreV1().ConfigMaps("ns")
		for _, step := range []struct {
			change func() error
			want   float64
		}{
			{func() error { return nil }, 0},
			{func() error { _, err := configMaps.Create(ctx, pauseObject(), metav1.CreateOptions{}); return err }, 1},
			{func() error { return configMaps.Delete(ctx, evictor.ConfigMapName, metav1.DeleteOptions{}) }, 1},
			{func() error { return configMaps.Delete(ctx, pause.Name, metav1.DeleteOptions{}) }, 0},
		} {
			if err := step.change(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(pauseInterval + time.Millisecond)
			if got := gauges(t, registry, "evenkeel_evictions_paused")["paused"]; got != step.want {
				t.Errorf("gauge %v, want %v", got, step.want)
			}
			if paused.Load() != (step.want > 0) {
				t.Errorf("reported %v, want %v", paused.Load(), step.want > 0)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A process that holds the ledger rewrites a damaged one without waiting for a change, so that a
// successor finds it intact. A metric shows a ledger that cannot be read and is not held.
func TestKeepRestores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		a, registry := office(t, client, func(*Config) {})
		if err := a.Take(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if err := a.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		configMaps := client.CoreV1().ConfigMaps("ns")
		spoil := func() {
			object, err := configMaps.Get(t.Context(), evictor.ConfigMapName, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			object.BinaryData = map[string][]byte{"ledger.json.gz": []byte("garbage")}
			if _, err := configMaps.Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		spoil()
		other, metrics := office(t, client, func(*Config) {})
		if err := other.Take(t.Context(), true); err == nil || gauges(t, metrics, "evenkeel_ledger_unreadable")[""] != 1 {
			t.Errorf("another process took it over: %v", err)
		}
		if err := a.Take(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*flushInterval)
		defer cancel()
		if err := a.Keep(ctx, func(context.Context) {}); err != nil {
			t.Fatal(err)
		}
		if err := other.Take(t.Context(), true); err != nil {
			t.Errorf("it was not restored: %v", err)
		}
		for _, r := range []*prometheus.Registry{registry, metrics} {
			if got := gauges(t, r, "evenkeel_ledger_unreadable")[""]; got != 0 {
				t.Errorf("gauge %v", got)
			}
		}
	})
}
