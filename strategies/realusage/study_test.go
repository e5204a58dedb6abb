package realusage

import (
	"context"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/plugin/plugintest"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
)

// yard is a Plugin for three nodes with 32 cores. The usage of its pods makes node-00000 hot.
type yard struct {
	args       *Args
	deps       plugin.Deps
	handle     frameworktypes.Handle
	nodes      []*v1.Node
	pods       map[string][]*v1.Pod
	observed   strategies.Observed
	protection *defaultevictor.DefaultEvictorArgs
	before     *preEviction
	refused    map[string]reasons.Reason
}

// preEviction is the DefaultEvictor with a pre-eviction filter that refuses the pods of an owner.
type preEviction struct {
	frameworktypes.EvictorPlugin
	refuses types.UID
	asked   []string
}

func (p *preEviction) PreEvictionFilter(pod *v1.Pod) bool {
	p.asked = append(p.asked, pod.Name)
	return len(pod.OwnerReferences) == 0 || pod.OwnerReferences[0].UID != p.refuses
}

func newYard(t *testing.T, change ...func(*v1.Pod)) *yard {
	t.Helper()
	y := &yard{refused: map[string]reasons.Reason{}, pods: map[string][]*v1.Pod{}, protection: &defaultevictor.DefaultEvictorArgs{}}
	view := &usage.View{Snapshot: &cluster.Snapshot{}, Windows: []usage.Window{usage.Last, usage.Avg5m}}
	states, all := map[string]thresholds.NodeState{}, []*v1.Pod(nil)
	for i := range 3 {
		node := benchNode(i)
		y.nodes = append(y.nodes, node)
		info := &cluster.NodePods{Node: cluster.Node{Name: node.Name, Allocatable: informed.Amounts(node.Status.Allocatable), Ready: true, Schedulable: true}}
		read, used := usage.NodeUsage{Sampled: time.Unix(1, 0), SourceSpan: make([]time.Duration, 2)}, cluster.Amounts{}
		for k := range 3 {
			pod := benchPod(i, k, 3)
			pod.Spec.SchedulerName = v1.DefaultSchedulerName
			for _, c := range change {
				c(pod)
			}
			y.pods[node.Name], all = append(y.pods[node.Name], pod), append(all, pod)
			uses := cluster.Amounts{1000, 1 << 30}
			if i == 0 {
				uses[cluster.CPU] = 8000 + int64(k)*100
			}
			info.Pods, used = append(info.Pods, informed.Pod(pod)), used.Plus(uses)
			read.Pods = append(read.Pods, usage.PodUsage{Measured: true, Used: uses})
		}
		read.Measured = []cluster.Amounts{used, used}
		read.Current, read.Predicted = read.Measured, read.Measured
		states[node.Name] = thresholds.NodeState{State: thresholds.Cool}
		view.Snapshot.Nodes, view.Nodes = append(view.Snapshot.Nodes, info), append(view.Nodes, read)
	}
	states["node-00000"] = thresholds.NodeState{State: thresholds.Hot}
	set, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{{
		Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60},
	}}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	resolved := set.Resolve(view)
	y.observed = strategies.Observed{View: view, Lines: resolved, States: states, Board: scorer.NewBoard(view, resolved, scorer.Config{}), MaxMoves: -1}
	filters, err := placement.New(t.Context(), placement.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := filters.Sync(y.nodes, all); err != nil {
		t.Fatal(err)
	}
	y.build(t, filters)
	return y
}

func (y *yard) build(t *testing.T, filters *placement.Filters) {
	t.Helper()
	handle := plugintest.Handle(t, y.protection, func(node string) []*v1.Pod { return y.pods[node] })
	y.before = &preEviction{EvictorPlugin: handle.EvictorFilterImpl}
	handle.EvictorFilterImpl = y.before
	y.args, y.handle = &Args{}, handle
	y.deps = plugin.Deps{
		Half: &plugintest.Half{
			Observed: &y.observed, Refused: y.refused, Gate: newGate(t),
			Open: func(context.Context) (*placement.Session, error) { return filters.Begin(), nil },
		},
	}
}

// plugin returns the plugin with the current settings of the yard.
func (y *yard) plugin(t *testing.T) *plugin.Plugin {
	t.Helper()
	p, err := plugin.New(y.args, y.handle, y.deps)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// input returns the input of the plan.
func (y *yard) input(t *testing.T) *plan.Input {
	t.Helper()
	study, err := plugin.Study(t.Context(), []*plugin.Plugin{y.plugin(t)}, y.nodes, strategies.Asked{})
	if err != nil {
		t.Fatal(err)
	}
	return study.Made.Basis.(*plan.Input)
}

func (y *yard) study(t *testing.T, node, pod int) strategies.Study {
	t.Helper()
	study, err := plugin.Study(t.Context(), []*plugin.Plugin{y.plugin(t)}, y.nodes, strategies.Asked{Pod: y.observed.View.Snapshot.Nodes[node].Pods[pod], Protection: y.protection})
	if err != nil {
		t.Fatal(err)
	}
	return study
}

// A Study makes the same plan as a cycle, and judges the pod as the planner does.
func TestStudy(t *testing.T) {
	y := newYard(t)
	study := y.study(t, 0, 2)
	plain, err := y.plugin(t).Plan(t.Context(), &y.observed, y.nodes)
	if err != nil {
		t.Fatal(err)
	}
	if len(plain.Plan.Moves) != 1 || len(study.Made.Plan.Moves) != 1 || study.Made.Plan.Moves[0].To != plain.Plan.Moves[0].To {
		t.Errorf("planned %+v and %+v", plain.Plan.Moves, study.Made.Plan.Moves)
	}
	if study.Pod == nil || study.Pod.Refused != "" || len(study.Landings) != 2 || study.Landings[0].Refused != "" {
		t.Errorf("pod %+v, landings %+v", study.Pod, study.Landings)
	}
	if study.Made.Basis.(*plan.Input).Placement != nil {
		t.Error("the plan keeps a session that is closed")
	}
}

// A pod that was moved within a day costs more, in a plan and in an explanation.
func TestStudyOfMovedPods(t *testing.T) {
	y := newYard(t)
	first := y.study(t, 0, 2)
	if first.Pod.Disruption.Again {
		t.Errorf("no pod was moved: %+v", first.Pod.Disruption)
	}
	moved := first.Made.Plan.Moves[0].UID
	y.observed.Moved = map[string]bool{moved: true}
	for k, pod := range y.observed.View.Snapshot.Nodes[0].Pods {
		if got := y.study(t, 0, k); got.Pod.Disruption.Again != (pod.UID == moved) || got.Made.Plan.Moves[0].UID == moved {
			t.Errorf("%s: %+v, planned %s; %s was moved", pod.UID, got.Pod.Disruption, got.Made.Plan.Moves[0].UID, moved)
		}
	}
}

// A pod on a node that is not hot is judged as well.
func TestStudyOfAPodElsewhere(t *testing.T) {
	study := newYard(t).study(t, 1, 0)
	if study.Pod == nil || study.Pod.Refused != "" || len(study.Landings) != 2 || study.Landings[0].Refused != reasons.NodeNotCool || study.Landings[1].Refused != "" {
		t.Errorf("pod %+v, landings %+v", study.Pod, study.Landings)
	}
}

// If nothing may be evicted, there is no plan, but the pod is still judged.
func TestStudyWhileClosed(t *testing.T) {
	y := newYard(t)
	y.observed.Closed = "OutsideWindow"
	if study := y.study(t, 0, 0); study.Pod == nil || study.Made.Closed != "OutsideWindow" || len(study.Made.Plan.Moves)+len(study.Landings) > 0 {
		t.Errorf("got %+v", study)
	}
	y.observed = strategies.Observed{Closed: "NoUsageData"}
	if _, err := plugin.Study(t.Context(), []*plugin.Plugin{y.plugin(t)}, y.nodes, strategies.Asked{Pod: &cluster.Pod{}}); err != nil {
		t.Errorf("before the first observation: %v", err)
	}
}

// A hot node that is being drained is left alone. A hot node that a taint only closes is relieved
// like any other. Neither accepts pods.
func TestStudyOfTaintedNodes(t *testing.T) {
	closed := func(n *cluster.Node) { n.ClosedBy = "DeletionCandidateOfClusterAutoscaler" }
	leaving := func(n *cluster.Node) { n.Leaving = "ToBeDeletedByClusterAutoscaler" }
	cases := map[string]struct {
		change  map[int]func(*cluster.Node)
		moves   int
		landing reasons.Reason // for the first cool node
	}{
		"the hot node is closed":           {map[int]func(*cluster.Node){0: closed}, 1, ""},
		"the hot node is drained":          {map[int]func(*cluster.Node){0: leaving}, 0, ""},
		"a cool node is closed":            {map[int]func(*cluster.Node){1: closed}, 1, reasons.NodeClosed},
		"a cool node is drained":           {map[int]func(*cluster.Node){1: leaving}, 1, reasons.NodeClosed},
		"every cool node is closed":        {map[int]func(*cluster.Node){1: closed, 2: closed}, 0, reasons.NodeClosed},
		"the hot one and a cool one are":   {map[int]func(*cluster.Node){0: closed, 1: closed}, 1, reasons.NodeClosed},
		"all nodes are, as a shared taint": {map[int]func(*cluster.Node){0: closed, 1: closed, 2: closed}, 0, reasons.NodeClosed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			for i, change := range tc.change {
				change(&y.observed.View.Snapshot.Nodes[i].Node)
			}
			study := y.study(t, 0, 2)
			if len(study.Made.Plan.Moves) != tc.moves || study.Landings[0].Refused != tc.landing {
				t.Errorf("moves %+v, first landing refused for %q", study.Made.Plan.Moves, study.Landings[0].Refused)
			}
		})
	}
}

// If a pod is protected, the explanation uses the DefaultEvictor's own words.
func TestProtection(t *testing.T) {
	y := newYard(t, func(pod *v1.Pod) {
		critical := int32(2_000_000_000)
		pod.Spec.Priority = &critical
	})
	study := y.study(t, 0, 0)
	if study.Pod == nil || study.Pod.Refused != reasons.ProtectedByDefaultEvictor || !strings.Contains(study.Protection, "critical priority") {
		t.Errorf("refused for %+v, protected by %q", study.Pod, study.Protection)
	}
	asked := strategies.Asked{Pod: y.observed.View.Snapshot.Nodes[0].Pods[0], Protection: &v1.Pod{}}
	if strange, err := plugin.Study(t.Context(), []*plugin.Plugin{y.plugin(t)}, y.nodes, asked); err != nil || strange.Protection != "" {
		t.Errorf("with strange arguments: %q, %v", strange.Protection, err)
	}
}

// A pod that is gone, or is not in the view, is not judged.
func TestStudyOfAPodThatIsGone(t *testing.T) {
	y := newYard(t)
	for name, pod := range map[string]*cluster.Pod{
		"gone": {UID: "other", Node: "node-00000"}, "on no node": {UID: "uid-00000-00"}, "on an unknown node": {UID: "uid-00000-00", Node: "x"},
	} {
		study, err := plugin.Study(t.Context(), []*plugin.Plugin{y.plugin(t)}, y.nodes, strategies.Asked{Pod: pod})
		if err != nil || study.Pod != nil || len(study.Landings) > 0 || len(study.Made.Plan.Moves) != 1 {
			t.Errorf("%s: %+v, %v", name, study, err)
		}
	}
}
