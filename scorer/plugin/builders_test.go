package plugin

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/scorer/answer"
)

// stand is a kube-scheduler whose only profile has the plugin, for a cluster of 10-core nodes whose
// usage the test sets.
type stand struct {
	*Plugin
	t        testing.TB
	observer *observer.Observer
	answerer *answer.Answerer
	now      time.Time
	used     map[string]int64 // CPU of nodes in milli-cores; unlisted nodes are not measured
	nodes    []fwk.NodeInfo
	// others reports whether the filters of all other plugins accept a node. If it is nil, they
	// accept all nodes.
	others func(node string) bool
	mu     sync.Mutex
	probed []string // the nodes for which the plugin ran the other filters
}

// newStand returns a stand without nodes. scoring is optional.
func newStand(t testing.TB, scoring ...scorer.Config) *stand {
	t.Helper()
	s := &stand{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), used: map[string]int64{}}
	scoring = append(scoring, scorer.Config{DampPercent: 5})
	set, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{{
		Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60},
	}}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	clock := func() time.Time { return s.now }
	s.observer, err = observer.New(observer.Config{
		Sources: []observer.Source{source(s.read)},
		Usage: usage.Config{
			SampleInterval: 15 * time.Second, MaxAge: 90 * time.Second, MinWindow: 75 * time.Second,
			Estimate: usage.Estimate{PercentOfRequest: cluster.Percents{100, 100}, Default: cluster.Amounts{250, 0}},
		},
		Scorer: scoring[0], Lines: set,
		Hot:    thresholds.HotRule{ConsecutiveSamples: 1, SampleInterval: 15 * time.Second},
		Ledger: ledger.Config{SourceAvoidance: 10 * time.Minute}, SampleInterval: 15 * time.Second, Now: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.answerer = answer.NewAnswerer(s.observer, clock)
	s.Plugin = &Plugin{name: EvenkeelLoad, host: s, side: &half{answerer: s.answerer}}
	return s
}

// half is a Side that only answers.
type half struct {
	answerer *answer.Answerer
	message  string
	all      bool
}

func (h *half) Answerer() *answer.Answerer { return h.answerer }
func (h *half) Refusal() (string, bool)    { return h.message, h.all }
func (h *half) Run(context.Context) error  { return nil }

type source func(context.Context, *cluster.Snapshot) (usage.Batch, error)

func (source) Name() string { return "test" }

func (s source) Sample(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error) {
	return s(ctx, snapshot)
}

func (s *stand) read(context.Context, *cluster.Snapshot) (usage.Batch, error) {
	batch := usage.Batch{Source: "test", Received: s.now}
	for name, cpu := range s.used {
		batch.Nodes = append(batch.Nodes, usage.NodeSample{Name: name, Readings: usage.LastReadings(s.now, cluster.Amounts{cpu, 0})})
	}
	return batch, nil
}

// node adds a node. If usage is negative, the node is not measured.
func (s *stand) node(name string, cpuMilli int64) {
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: v1.NodeStatus{
			Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("100Gi")},
			Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
	node.Status.Capacity = node.Status.Allocatable
	s.observer.Store().SetNode(node)
	s.nodes = append(s.nodes, &nodeInfo{node: node})
	if cpuMilli >= 0 {
		s.used[name] = cpuMilli
	}
}

// observe samples for five minutes.
func (s *stand) observe() { s.observeFor(21) }

func (s *stand) observeFor(samples int) {
	for range samples {
		s.now = s.now.Add(15 * time.Second)
		s.observer.Sample(s.t.Context())
	}
}

// record records a move of a web pod that used 1 core.
func (s *stand) record(n int, from, to string) (podUID string) {
	podUID = fmt.Sprintf("uid-%d", n)
	s.observer.Ledger().Record(s.now, ledger.Intent{
		Namespace: "ns", Pod: fmt.Sprintf("web-%d", n), PodUID: podUID,
		Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"}, TemplateHash: "h1",
		Usage: cluster.Amounts{1000, 0}, From: from, To: to, TTL: time.Hour,
	})
	s.observer.Ledger().Leaves(podUID, s.now)
	return podUID
}

// webPod returns a new pod of the ReplicaSet "web".
func webPod(uid string) *v1.Pod {
	pod := strange(uid, "200m")
	pod.Labels = map[string]string{"pod-template-hash": "h1"}
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "rs-1", Controller: new(true)}}
	return pod
}

// strange returns a pod without an owner that requests the given CPU.
func strange(uid, cpu string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: uid, UID: types.UID(uid)},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "main", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
	}
}

// outcome is the result of one cycle for kube-scheduler.
type outcome struct {
	cycle fwk.CycleState
	// feasible lists the nodes that pass, in order, and refused why the others do not.
	feasible []string
	refused  map[string]string
	scores   map[string]int64
	// preScored reports whether PreScore is called as well.
	preScored bool
}

// schedule calls the plugin as kube-scheduler does: first the filters of all nodes at once, then
// the scores of the nodes that pass.
func (s *stand) schedule(pod *v1.Pod) outcome {
	s.t.Helper()
	o := outcome{cycle: &cycleState{}, refused: map[string]string{}, preScored: true}
	_, status := s.PreFilter(s.t.Context(), o.cycle, pod, s.nodes)
	if !status.IsSuccess() && !status.IsSkip() {
		s.t.Fatalf("PreFilter: %v", status)
	}
	s.filter(pod, &o, status.IsSkip())
	o.scores = s.score(pod, o)
	return o
}

func (s *stand) filter(pod *v1.Pod, o *outcome, skip bool) {
	said := make([]*fwk.Status, len(s.nodes))
	s.Until(s.t.Context(), len(s.nodes), func(i int) {
		if s.others != nil && !s.others(s.nodes[i].Node().Name) {
			said[i] = fwk.NewStatus(fwk.Unschedulable, "another plugin")
		} else if !skip {
			said[i] = s.Filter(s.t.Context(), o.cycle, pod, s.nodes[i])
		}
	}, "")
	for i, status := range said {
		if name := s.nodes[i].Node().Name; status.IsSuccess() {
			o.feasible = append(o.feasible, name)
		} else {
			o.refused[name] = status.Message()
			if status.Message() != "another plugin" && status.Code() != fwk.UnschedulableAndUnresolvable {
				s.t.Errorf("node %q is refused with code %v, which invites preemption", name, status.Code())
			}
		}
	}
	slices.Sort(o.feasible)
}

func (s *stand) score(pod *v1.Pod, o outcome) map[string]int64 {
	s.t.Helper()
	list := make(fwk.NodeScoreList, len(o.feasible))
	for i, name := range o.feasible {
		list[i].Name = name
	}
	if o.preScored && s.PreScore(s.t.Context(), o.cycle, pod, s.infos(o.feasible)).IsSkip() {
		return s.unscored(o.feasible)
	}
	if status := s.ScoreExtensions().NormalizeScore(s.t.Context(), o.cycle, pod, list); !status.IsSuccess() {
		s.t.Fatalf("NormalizeScore: %v", status)
	}
	scores := map[string]int64{}
	for _, score := range list {
		scores[score.Name] = score.Score
	}
	return scores
}

// infos returns the nodes of these names.
func (s *stand) infos(names []string) []fwk.NodeInfo {
	infos := make([]fwk.NodeInfo, len(names))
	for i, name := range names {
		infos[i] = s.nodes[slices.IndexFunc(s.nodes, func(n fwk.NodeInfo) bool { return n.Node().Name == name })]
	}
	return infos
}

// unscored returns the scores that apply if scoring is skipped.
func (s *stand) unscored(names []string) map[string]int64 {
	scores := map[string]int64{}
	for _, name := range names {
		scores[name] = 0
	}
	return scores
}

// predicted returns the predicted CPU usage of a node, in milli-cores.
func (s *stand) predicted(node string) int64 {
	board := s.observer.Latest().Board
	amounts, _ := board.Predicted(board.Node([]byte(node)))
	return amounts[cluster.CPU]
}

// The remaining methods implement kube-scheduler's handle.

func (s *stand) SnapshotSharedLister() fwk.SharedLister { return lister{nodes: s} }
func (s *stand) Parallelizer() fwk.Parallelizer         { return s }

func (s *stand) RunFilterPluginsWithNominatedPods(ctx context.Context, cycle fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	s.mu.Lock()
	s.probed = append(s.probed, node.Node().Name)
	s.mu.Unlock()
	if s.others != nil && !s.others(node.Node().Name) {
		return fwk.NewStatus(fwk.Unschedulable, "another plugin")
	}
	return s.Filter(ctx, cycle, pod, node)
}

func (s *stand) Until(ctx context.Context, pieces int, do workqueue.DoWorkPieceFunc, _ string) {
	workqueue.ParallelizeUntil(ctx, 4, pieces, do)
}

type lister struct {
	fwk.SharedLister
	fwk.NodeInfoLister
	nodes *stand
}

func (l lister) NodeInfos() fwk.NodeInfoLister { return l }
func (l lister) List() ([]fwk.NodeInfo, error) { return l.nodes.nodes, nil }

type nodeInfo struct {
	fwk.NodeInfo
	node *v1.Node
}

func (n *nodeInfo) Node() *v1.Node { return n.node }

// cycleState stores only what the plugin writes to it.
type cycleState struct {
	fwk.CycleState
	data sync.Map
}

func (c *cycleState) Read(key fwk.StateKey) (fwk.StateData, error) {
	data, ok := c.data.Load(key)
	if !ok {
		return nil, fwk.ErrNotFound
	}
	return data.(fwk.StateData), nil
}

func (c *cycleState) Write(key fwk.StateKey, data fwk.StateData) { c.data.Store(key, data) }

func (c *cycleState) Clone() fwk.CycleState {
	clone := &cycleState{}
	c.data.Range(func(key, data any) bool {
		clone.data.Store(key, data.(fwk.StateData).Clone())
		return true
	})
	return clone
}
