// Package plugintest provides a small fleet for tests of strategies: nodes and pods with
// their usage, and everything that a strategy needs to plan on them. Create it with New
// and Run, change what the test needs, then call Plan or Explain.
package plugintest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	frameworkfake "sigs.k8s.io/descheduler/pkg/framework/fake"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// Fleet has nodes with 10 cores and 100 GiB. Each uses half a core in addition to its
// pods, takes pods up to 60% of its CPU and is hot above 65%.
type Fleet struct {
	Options plugin.Options
	// Observed is the input of the strategies. The fleet sets View, States, Lines and Board
	// when it plans.
	Observed strategies.Observed
	// Refused holds, by pod name, why pods must not be moved.
	Refused map[string]reasons.Reason

	nodes []*Node
}

// Node is a node of a fleet.
type Node struct {
	*v1.Node
	State thresholds.State
	// Uses is the node's usage in addition to its pods.
	Uses cluster.Amounts
	// Change modifies the observed node; may be nil.
	Change func(*cluster.Node)
	// PeakMilliCores is the node's highest CPU usage in the last hours.
	PeakMilliCores int64
	Pods           []*Pod
}

// Pod is a pod of a fleet.
type Pod struct {
	*v1.Pod
	Uses           cluster.Amounts
	PeakMilliCores int64
	// Expected is the expected CPU usage.
	Expected forecast.Expected
}

// New returns a fleet of cool nodes. A node's label "pool" is its name without the
// number.
func New(nodes ...string) *Fleet {
	f := &Fleet{Options: plugin.Options{AcrossZones: true, AcrossCapacityTypes: true}, Observed: strategies.Observed{MaxMoves: -1}, Refused: map[string]reasons.Reason{}}
	for _, name := range nodes {
		pool, _, _ := strings.Cut(name, "-")
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": pool, v1.LabelHostname: name}}}
		node.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("100Gi"), v1.ResourcePods: resource.MustParse("110")}
		node.Status.Capacity = node.Status.Allocatable
		f.nodes = append(f.nodes, &Node{Node: node, State: thresholds.Cool, Uses: cluster.Amounts{500, 1 << 30}})
	}
	slices.SortFunc(f.nodes, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	return f
}

// Run adds a pod that uses 1 GiB. Its ReplicaSet has the pod's name without the number.
func (f *Fleet) Run(name, node string, milliCores int64) *Pod {
	owner, _, _ := strings.Cut(name, "-")
	pod := &Pod{Uses: cluster.Amounts{milliCores, 1 << 30}, PeakMilliCores: milliCores, Expected: forecast.Constant(milliCores), Pod: &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID(name), Labels: map[string]string{"app": owner, "pod-template-hash": "1"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: new(true)}},
		},
		Spec:   v1.PodSpec{NodeName: node, SchedulerName: v1.DefaultSchedulerName},
		Status: v1.PodStatus{Phase: v1.PodRunning},
	}}
	n := f.Node(node)
	n.Pods = append(n.Pods, pod)
	return pod
}

// Node returns a node by name.
func (f *Fleet) Node(name string) *Node {
	return f.nodes[slices.IndexFunc(f.nodes, func(n *Node) bool { return n.Name == name })]
}

// Plan returns what a strategy plans in a cycle.
func (f *Fleet) Plan(t *testing.T, strategy plugin.Strategy) *strategies.Made {
	t.Helper()
	_, plugins := f.Plugins(t, strategy)
	made, err := plugins[0].Plan(t.Context(), &f.Observed, f.Nodes())
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Explain returns what strategies plan in a cycle, with the explanation of a pod, if pod
// is not empty.
func (f *Fleet) Explain(t *testing.T, pod string, all ...plugin.Strategy) strategies.Study {
	t.Helper()
	_, plugins := f.Plugins(t, all...)
	asked := strategies.Asked{}
	for _, info := range f.Observed.View.Snapshot.Nodes {
		for _, record := range info.Pods {
			if record.Name == pod {
				asked.Pod = record
			}
		}
	}
	study, err := plugin.Study(t.Context(), plugins, f.Nodes(), asked)
	if err != nil {
		t.Fatal(err)
	}
	return study
}

// Moves formats the moves of a plan, each like "web-1: node-0 -> node-1".
func Moves(made *strategies.Made) (moves []string) {
	for i := range made.Plan.Moves {
		m := &made.Plan.Moves[i]
		moves = append(moves, m.Name+": "+m.From+" -> "+m.To)
	}
	return moves
}

// Declined returns, by pod name, why a plan leaves pods where they are.
func Declined(made *strategies.Made) map[string]reasons.Reason {
	declined := map[string]reasons.Reason{}
	for i := range made.Plan.Declined {
		declined[made.Plan.Declined[i].Name] = made.Plan.Declined[i].Reason
	}
	return declined
}

// Nodes returns the objects of the nodes.
func (f *Fleet) Nodes() (nodes []*v1.Node) {
	for _, n := range f.nodes {
		nodes = append(nodes, n.Node)
	}
	return nodes
}

// Plugins completes the observation. It returns the evicting half and the strategies'
// plugins.
func (f *Fleet) Plugins(t testing.TB, all ...plugin.Strategy) (half *Half, plugins []*plugin.Plugin) {
	t.Helper()
	view := &usage.View{Snapshot: &cluster.Snapshot{}, Windows: []usage.Window{usage.Last, usage.Avg5m}}
	f.Observed.View, f.Observed.States = view, map[string]thresholds.NodeState{}
	var running []*v1.Pod
	for _, n := range f.nodes {
		info, read := n.observe()
		view.Snapshot.Nodes, view.Nodes = append(view.Snapshot.Nodes, info), append(view.Nodes, read)
		f.Observed.States[n.Name] = thresholds.NodeState{State: n.State}
		for _, pod := range n.Pods {
			running = append(running, pod.Pod)
		}
	}
	set, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{
		{Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}},
	}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	f.Observed.Lines = set.Resolve(view)
	f.Observed.Board = scorer.NewBoard(view, f.Observed.Lines, scorer.Config{})
	filters, err := placement.New(t.Context(), placement.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := filters.Sync(f.Nodes(), running); err != nil {
		t.Fatal(err)
	}
	half = &Half{
		Observed: &f.Observed, Refused: f.Refused,
		Open: func(context.Context) (*placement.Session, error) { return filters.Begin(), nil },
		Find: func(uid string) *v1.Pod {
			return running[slices.IndexFunc(running, func(pod *v1.Pod) bool { return string(pod.UID) == uid })]
		},
	}
	handle := f.Handle(t)
	for _, strategy := range all {
		strategy.SetDefaults()
		p, err := plugin.New(strategy, handle, plugin.Deps{Half: half, Options: f.Options})
		if err != nil {
			t.Fatal(err)
		}
		plugins = append(plugins, p)
	}
	return half, plugins
}

// Handle returns a handle of the framework with the fleet's pods.
func (f *Fleet) Handle(tb testing.TB) *frameworkfake.HandleImpl {
	tb.Helper()
	byNode := map[string][]*v1.Pod{}
	for _, n := range f.nodes {
		for _, pod := range n.Pods {
			byNode[n.Name] = append(byNode[n.Name], pod.Pod)
		}
	}
	return Handle(tb, nil, func(node string) []*v1.Pod { return byNode[node] })
}

// observe returns the observation of a node.
func (n *Node) observe() (*cluster.NodePods, usage.NodeUsage) {
	info := &cluster.NodePods{Node: cluster.Node{
		Name: n.Name, Labels: n.Labels, Allocatable: informed.Amounts(n.Status.Allocatable), Capacity: informed.Amounts(n.Status.Capacity),
		Ready: true, Schedulable: !n.Spec.Unschedulable,
	}}
	if n.Change != nil {
		n.Change(&info.Node)
	}
	read, used := usage.NodeUsage{Sampled: time.Unix(1, 0), SourceSpan: make([]time.Duration, 2), PeakMilliCores: n.PeakMilliCores}, n.Uses
	for _, pod := range n.Pods {
		info.Pods, used = append(info.Pods, informed.Pod(pod.Pod)), used.Plus(pod.Uses)
		read.Pods = append(read.Pods, usage.PodUsage{Measured: true, Used: pod.Uses, PeakMilliCores: pod.PeakMilliCores, Expected: pod.Expected})
	}
	read.Measured = []cluster.Amounts{used, used}
	read.Current, read.Predicted = read.Measured, read.Measured
	return info, read
}
