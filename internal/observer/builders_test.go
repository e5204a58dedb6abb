package observer

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
	"github.com/evenkeel/evenkeel/usage"
)

// harbor is an Observer over a cluster that a test plays. Its clock moves by hand, its source reads what the test says.
type harbor struct {
	*Observer
	t     testing.TB
	now   time.Time
	nodes map[string]cluster.Amounts // what nodes use
	pods  map[string]cluster.Amounts // what pods use, by name
	fail  error
}

func newHarbor(t testing.TB) *harbor {
	t.Helper()
	h := &harbor{
		t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		nodes: map[string]cluster.Amounts{}, pods: map[string]cluster.Amounts{},
	}
	inf := math.Inf(1)
	lines := plan.Lines{
		Low: cluster.Percents{45, inf}, Reject: cluster.Percents{60, inf}, Evict: cluster.Percents{65, inf}, Leave: cluster.Percents{60, inf},
	}
	observer, err := New(Config{
		Source: sourceFunc(h.read),
		Usage: usage.Config{
			SampleInterval: 15 * time.Second, MaxAge: 90 * time.Second, MinWindow: 75 * time.Second,
			Estimate: usage.Estimate{PercentOfRequest: cluster.Percents{85, 70}, Default: cluster.Amounts{250, 200 << 20}},
		},
		Scorer:         scorer.Config{DampPercent: 5},
		Lines:          func(*usage.View) plan.Lines { return lines },
		Hot:            plan.HotRule{Windows: []usage.Window{usage.Avg5m}, ConsecutiveSamples: 3},
		MinCoverage:    80,
		SampleInterval: 15 * time.Second,
		Now:            func() time.Time { return h.now },
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Observer = observer
	return h
}

// read is the Source.
func (h *harbor) read(context.Context) (usage.Batch, error) {
	if h.fail != nil {
		return usage.Batch{}, h.fail
	}
	batch := usage.Batch{Source: "test", Received: h.now}
	for name, used := range h.nodes {
		batch.Nodes = append(batch.Nodes, usage.NodeSample{Name: name, Sample: usage.Sample{At: h.now, Used: used}})
	}
	for name, used := range h.pods {
		batch.Pods = append(batch.Pods, usage.PodSample{Namespace: "ns", Name: name, Sample: usage.Sample{At: h.now, Used: used}})
	}
	return batch, nil
}

// pass samples every 15 s for a while.
func (h *harbor) pass(d time.Duration) {
	for end := h.now.Add(d); h.now.Before(end); {
		h.now = h.now.Add(15 * time.Second)
		h.Observer.Sample(h.t.Context())
	}
}

// node adds a node of 10 cores, of which this much is used.
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
	controller := true
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"pod-template-hash": "h1"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: &controller}},
		},
		Spec: v1.PodSpec{NodeName: node, Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")},
		}}}},
		Status: v1.PodStatus{Phase: v1.PodRunning, StartTime: &metav1.Time{Time: h.now.Add(-time.Minute)}},
	}
	h.Store().SetPod(pod)
	return pod
}

// predicted returns what the published board predicts of a node's CPU.
func (h *harbor) predicted(node string) int64 {
	h.t.Helper()
	board := h.Latest().Board
	amounts, known := board.Predicted(board.Node([]byte(node)))
	if !known {
		h.t.Fatalf("node %s is not known", node)
	}
	return amounts[cluster.CPU]
}

var errSource = errors.New("metrics-server is away")

type sourceFunc func(context.Context) (usage.Batch, error)

func (f sourceFunc) Sample(ctx context.Context) (usage.Batch, error) { return f(ctx) }
