package observer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/scorer"
)

// harbor is an Observer of a cluster that a test controls. The test sets its clock and what its
// sources read.
type harbor struct {
	*Observer
	*meter // the first source
	t      testing.TB
	now    time.Time
}

// listening is a Listener for tests that follow the gate.
type listening func(*Observation)

var _ Listener = listening(nil)

func (listening) Observed(*Observation) {}

func (l listening) Gated(o *Observation) { l(o) }

func (listening) Ended(ledger.Move) {}

// meter is a Source that reports what a test sets.
type meter struct {
	name  string
	clock func() time.Time
	nodes map[string]cluster.Amounts // the usage of nodes
	pods  map[string]cluster.Amounts // the usage of pods, by name
	// window is the window of the node readings.
	window usage.Window
	fail   error
	asked  int
	// bend, if set, corrupts the batch.
	bend func(*usage.Batch)
}

var _ Source = (*meter)(nil)

func newMeter(name string, clock func() time.Time) *meter {
	return &meter{name: name, clock: clock, nodes: map[string]cluster.Amounts{}, pods: map[string]cluster.Amounts{}}
}

func (m *meter) Name() string { return m.name }

func (m *meter) Sample(context.Context, *cluster.Snapshot) (usage.Batch, error) {
	m.asked++
	if m.fail != nil {
		return usage.Batch{}, m.fail
	}
	now := m.clock()
	batch := usage.Batch{Source: m.name, Received: now}
	for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
		batch.Nodes = append(batch.Nodes, usage.NodeSample{Name: name, Readings: m.readings(now, m.nodes[name])})
	}
	for _, name := range slices.Sorted(maps.Keys(m.pods)) {
		batch.Pods = append(batch.Pods, usage.PodSample{Namespace: "ns", Name: name, Last: usage.Sample{At: now, Used: m.pods[name]}})
	}
	if m.bend != nil {
		m.bend(&batch)
	}
	return batch, nil
}

func (m *meter) readings(at time.Time, used cluster.Amounts) []usage.Reading {
	readings := usage.LastReadings(at, used)
	for i := range readings {
		readings[i].Window = m.window
	}
	return readings
}

// newHarbor returns a harbor with an interval of 15 s and the shipped CPU lines. It applies changes
// before it creates the Observer.
func newHarbor(t testing.TB, changes ...func(*harbor, *Config)) *harbor {
	t.Helper()
	h := &harbor{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return h.now }
	h.meter = newMeter("test", clock)
	config := Config{
		Sources: []Source{h.meter},
		Usage: usage.Config{
			SampleInterval: 15 * time.Second, MaxAge: 90 * time.Second, MinWindow: 75 * time.Second,
			Estimate: usage.Estimate{PercentOfRequest: cluster.Percents{85, 70}, Default: cluster.Amounts{250, 200 << 20}},
		},
		Scorer:         scorer.Config{DampPercent: 5},
		Lines:          linesOf(t, usage.Avg5m),
		Hot:            thresholds.HotRule{ConsecutiveSamples: 3, SampleInterval: 15 * time.Second},
		HotWindows:     []usage.Window{usage.Avg5m},
		MinCoverage:    80,
		SampleInterval: 15 * time.Second,
		Now:            clock,
	}
	for _, change := range changes {
		change(h, &config)
	}
	observer, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	h.Observer = observer
	return h
}

// linesOf returns the shipped CPU lines for windows.
func linesOf(t testing.TB, windows ...usage.Window) *thresholds.Set {
	t.Helper()
	var rules []thresholds.Rule
	for _, w := range windows {
		rules = append(rules, thresholds.Rule{Metric: usage.CPU, Window: w, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}})
	}
	set, err := thresholds.New([]thresholds.Pool{{Name: "default", Rules: rules}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// also adds sources after the first.
func also(names ...string) func(*harbor, *Config) {
	return func(h *harbor, config *Config) {
		for _, name := range names {
			config.Sources = append(config.Sources, newMeter(name, config.Now))
		}
	}
}

// source returns the meter at a position in the chain.
func (h *harbor) source(i int) *meter {
	h.t.Helper()
	m, ok := h.at.config.Sources[i].(*meter)
	if !ok {
		h.t.Fatalf("source %d is not a meter", i)
	}
	return m
}

// pass samples every 15 s for the given duration.
func (h *harbor) pass(d time.Duration) {
	for end := h.now.Add(d); h.now.Before(end); {
		h.now = h.now.Add(15 * time.Second)
		h.Observer.Sample(h.t.Context())
	}
}

// node adds a node with 10 cores that uses cpuMilli.
func (h *harbor) node(name string, cpuMilli int64) {
	h.Store().SetNode(&v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: v1.NodeStatus{
			Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("100Gi")},
			Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	})
	h.nodes[name] = cluster.Amounts{cpuMilli, 0}
}

// pod binds a pod of a ReplicaSet to a node.
func (h *harbor) pod(name, node, owner string) *v1.Pod {
	pod := h.podOf(name, node, owner)
	h.Store().SetPod(pod)
	return pod
}

func (h *harbor) podOf(name, node, owner string) *v1.Pod {
	controller := true
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"pod-template-hash": "h1"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: &controller}},
		},
		Spec: v1.PodSpec{NodeName: node, Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")},
		}}}},
		Status: v1.PodStatus{Phase: v1.PodRunning, StartTime: &metav1.Time{Time: h.now.Add(-time.Minute)}},
	}
}

// predicted returns the CPU usage that the published board predicts for a node.
func (h *harbor) predicted(node string) int64 {
	h.t.Helper()
	board := h.Latest().Board
	amounts, known := board.Predicted(board.Node([]byte(node)))
	if !known {
		h.t.Fatalf("node %s is unknown", node)
	}
	return amounts[cluster.CPU]
}

var errSource = errors.New("metrics-server is away")

// sourceFunc is a Source named "test".
type sourceFunc func(context.Context, *cluster.Snapshot) (usage.Batch, error)

func (sourceFunc) Name() string { return "test" }

func (f sourceFunc) Sample(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error) {
	return f(ctx, snapshot)
}

// unready makes a node not ready.
func (h *harbor) unready(name string) {
	h.Store().SetNode(&v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: v1.NodeStatus{
			Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("100Gi")},
			Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionFalse}},
		},
	})
}
