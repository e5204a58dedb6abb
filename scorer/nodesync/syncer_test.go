package nodesync

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// The label, the taint and the annotations follow the node's usage, in one patch each time. A node
// that has the right ones is not patched.
func TestMarksComeAndGo(t *testing.T) {
	a := newAPI(t, v1Node("a", labelled("disk", "ssd")), v1Node("b"))
	isHot, policy := true, everything()
	nodes := a.state(t, func(o Object) Node {
		n := measured(o, noon, usage.Avg5m)
		n.Hot = isHot && o.Name == "a"
		return n
	})
	steps := []struct {
		name    string
		hot     bool
		policy  Policy
		patches int
		labels  map[string]string
		taints  int
		figures int
	}{
		{"a is hot", true, policy, 2, map[string]string{"disk": "ssd", "status": "presure"}, 1, 3},
		{"still hot", true, policy, 0, map[string]string{"disk": "ssd", "status": "presure"}, 1, 3},
		{"cooled", false, policy, 1, map[string]string{"disk": "ssd"}, 0, 3},
		{"still cool", false, policy, 0, map[string]string{"disk": "ssd"}, 0, 3},
		{"turned off", true, off(), 2, map[string]string{"disk": "ssd"}, 0, 0},
		{"still off", true, off(), 0, map[string]string{"disk": "ssd"}, 0, 0},
	}
	for _, step := range steps {
		isHot, a.patches = step.hot, nil
		if err := newSyncer(t, a, step.policy, nodes).pass(t.Context()); err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
		got := a.node(t, "a")
		if len(a.patches) != step.patches {
			t.Errorf("%s: %d patches, want %d: %q", step.name, len(a.patches), step.patches, a.patches)
		}
		if diff := cmp.Diff(step.labels, got.Labels); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", step.name, diff)
		}
		if len(got.Spec.Taints) != step.taints || len(got.Annotations) != step.figures {
			t.Errorf("%s: taints %v, annotations %v", step.name, got.Spec.Taints, got.Annotations)
		}
		if b := a.node(t, "b"); len(b.Labels)+len(b.Spec.Taints) > 0 {
			t.Errorf("%s: b is marked: %v %v", step.name, b.Labels, b.Spec.Taints)
		}
	}
	if a.reads > 0 {
		t.Errorf("%d nodes were read that were known", a.reads)
	}
}

// What others write between the decision and the patch is preserved. If they write elsewhere on the
// node, that only costs another attempt.
func TestOthersComeInBetween(t *testing.T) {
	pressed := map[string]string{"status": "presure"}
	busy := func(n *v1.Node) { n.Annotations = map[string]string{"busy": "yes"} }
	cases := map[string]struct {
		change func(*v1.Node)
		always bool
		want   map[string]string
		result string
	}{
		"they took the label": {change: labelled("status", "mine"), want: map[string]string{"status": "mine"}},
		"they wrote elsewhere": {
			change: labelled("disk", "ssd"), want: map[string]string{"disk": "ssd", "status": "presure"}, result: "success",
		},
		"they tainted the node": {change: func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: "x", Effect: v1.TaintEffectNoExecute}} },
			want: pressed, result: "success"},
		"they never stop":                {change: busy, always: true, result: "conflict"},
		"it is another node of the name": {change: func(n *v1.Node) { n.UID = "uid-2" }, result: "gone"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, v1Node("a"))
			calls := 0
			a.before = func(name string) error {
				if calls++; calls > 1 && !tc.always {
					return nil
				}
				return a.change(name, tc.change)
			}
			s := newSyncer(t, a, marking(), a.state(t, func(o Object) Node { return hot(measured(o, noon)) }))
			if err := s.pass(t.Context()); err != nil {
				t.Errorf("pass: %v", err)
			}
			got := a.node(t, "a")
			if diff := cmp.Diff(tc.want, got.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if tc.result != "" && testutil.ToFloat64(s.metrics.patches.WithLabelValues("label", tc.result)) != 1 {
				t.Errorf("not counted as %s", tc.result)
			}
			if name == "they tainted the node" && len(got.Spec.Taints) != 2 {
				t.Errorf("taints: %v", got.Spec.Taints)
			}
		})
	}
}

func TestErrorsOfTheAPIServer(t *testing.T) {
	gone := apierrors.NewNotFound(nodesResource, "n")
	denied := apierrors.NewForbidden(nodesResource, "n", errors.New("no"))
	cases := map[string]struct {
		answer  func(name string) error
		fails   bool
		labels  int // of 20
		patches int // at most
	}{
		"all is well":           {func(string) error { return nil }, false, 20, 20},
		"nodes are deleted":     {func(string) error { return gone }, false, 0, 20},
		"one node is denied":    {func(name string) error { return only(name, "n07", denied) }, true, 19, 20},
		"the server is away":    {func(string) error { return errors.New("connection refused") }, true, 0, maxFailures + concurrency},
		"permission is lacking": {func(string) error { return denied }, true, 0, maxFailures + concurrency},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			for i := range 20 {
				if err := a.Tracker().Add(v1Node(fmt.Sprintf("n%02d", i))); err != nil {
					t.Fatal(err)
				}
			}
			a.before = tc.answer
			s := newSyncer(t, a, marking(), a.state(t, func(o Object) Node { return hot(measured(o, noon)) }))
			if err := s.pass(t.Context()); (err != nil) != tc.fails {
				t.Errorf("pass: %v", err)
			}
			labels := 0
			for _, n := range s.config.Nodes() {
				labels += len(n.Labels)
			}
			if labels != tc.labels || len(a.patches) > tc.patches {
				t.Errorf("%d labels, want %d; %d patches, want %d at most", labels, tc.labels, len(a.patches), tc.patches)
			}
		})
	}
}

func only(name, bad string, err error) error {
	if name == bad {
		return err
	}
	return nil
}

// Failing nodes do not keep other nodes from their turn, and marks come before annotations.
func TestOrderAndBudget(t *testing.T) {
	a := newAPI(t, v1Node("a"), v1Node("b"), v1Node("c"), v1Node("d"))
	nodes := a.state(t, func(o Object) Node {
		n := measured(o, noon.Add(-time.Minute), usage.Avg5m)
		n.Hot = o.Name == "a" || o.Name == "d"
		if o.Name == "c" {
			n.At = n.At.Add(-time.Minute)
		}
		return n
	})
	s := newSyncer(t, a, everything(), nodes)
	s.budget, s.failed = 3, map[string]bool{"a": true}
	var order []string
	for _, d := range s.decide(testLogger(t)) {
		order = append(order, d.node.Name)
	}
	if diff := cmp.Diff([]string{"d", "c", "b", "a"}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if err := s.pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := testutil.ToFloat64(s.metrics.waiting); got != 1 || len(a.patches) != 3 {
		t.Errorf("%v waiting after %d patches", got, len(a.patches))
	}
}

// A key of another writer is logged once, however long it stays, and again if it returns. It is
// counted at every pass.
func TestForeignKeysAreToldOnce(t *testing.T) {
	a := newAPI(t, v1Node("a", labelled("status", "mine")), v1Node("b", labelled("status", "theirs")))
	s := newSyncer(t, a, marking(), a.state(t, func(o Object) Node {
		o.Taints = []v1.Taint{{Key: "evenkeel.io/hot", Value: "no", Effect: v1.TaintEffectPreferNoSchedule}}
		return hot(measured(o, noon))
	}))
	logged := 0
	logger := countingLogger(func(line string) { logged += strings.Count(line, "key unchanged") })
	s.decide(logger)
	s.decide(logger)
	if logged != 2 { // one for the label and one for the taint
		t.Errorf("logged %d times, want 2", logged)
	}
	if got := testutil.ToFloat64(s.metrics.foreign.WithLabelValues("label")); got != 2 {
		t.Errorf("%v labels are counted, want 2", got)
	}
	if err := s.pass(t.Context()); err != nil || len(a.patches) > 0 {
		t.Errorf("patched %q, %v", a.patches, err)
	}
}

// A node whose resourceVersion is not known is read first.
func TestANodeWithoutVersionIsRead(t *testing.T) {
	a := newAPI(t, v1Node("a", labelled("status", "mine")), v1Node("b"))
	s := newSyncer(t, a, marking(), func() []Node {
		return []Node{hot(measured(Object{Name: "a"}, noon)), hot(measured(Object{Name: "b"}, noon)), hot(measured(Object{Name: "gone"}, noon))}
	})
	if err := s.pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a.reads != 3 || a.node(t, "a").Labels["status"] != "mine" || a.node(t, "b").Labels["status"] != "presure" {
		t.Errorf("%d reads; a: %v, b: %v", a.reads, a.node(t, "a").Labels, a.node(t, "b").Labels)
	}
}

func TestRunPassesUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var passes atomic.Int64
		s := newSyncer(t, newAPI(t), marking(), func() []Node { passes.Add(1); return nil })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(DefaultInterval*3 + time.Second)
		cancel()
		if err := <-done; err != nil || passes.Load() != 4 {
			t.Errorf("%d passes, want 4; %v", passes.Load(), err)
		}
	})
}

func TestNewRefusesAndRegisters(t *testing.T) {
	good := Config{
		Client: newAPI(t), Nodes: func() []Node { return nil }, Now: func() time.Time { return noon }, Policy: everything(),
		Registerer: prometheus.NewRegistry(),
	}
	first, err := New(good)
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	second, err := New(good)
	if err != nil || first.metrics.patches != second.metrics.patches {
		t.Errorf("a Syncer that replaces another does not continue its counters: %v", err)
	}
	cases := map[string]func(*Config){
		"no client": func(c *Config) { c.Client = nil },
		"no nodes":  func(c *Config) { c.Nodes = nil },
		"no clock":  func(c *Config) { c.Now = nil },
	}
	for name, how := range cases {
		t.Run(name, func(t *testing.T) {
			bad := good
			how(&bad)
			if _, err := New(bad); err == nil {
				t.Error("accepted")
			}
		})
	}
}

// A Syncer under another policy continues the counters of the previous one, even if another one was
// created in between but never used.
func TestSyncersOfOneProcessShareTheirMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	for range 3 {
		m, err := newMetrics(registry)
		if err != nil {
			t.Fatal(err)
		}
		m.patched([]Kind{KindLabel}, resultSuccess)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var total float64
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			total += metric.GetCounter().GetValue()
		}
	}
	if total != 3 {
		t.Errorf("%v patches are counted, want 3", total)
	}
}
