package preferred

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/descheduler/pkg/api"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	frameworkfake "sigs.k8s.io/descheduler/pkg/framework/fake"
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
)

// fleet is two nodes of 10 cores: one cheap and idle, one expensive, with two
// pods of a core each that prefer cheap nodes by a weight of 50, and one
// without preferences.
type fleet struct {
	args     Args
	options  plugin.Options
	nodes    []*v1.Node
	pods     []*v1.Pod
	observed strategies.Observed
	refused  reasons.Reason
}

const (
	cheap = "cheap-0"
	dear  = "dear-0"
)

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{options: plugin.Options{AcrossZones: true}}
	f.args.SetDefaults()
	view := &usage.View{Snapshot: &cluster.Snapshot{}, Windows: []usage.Window{usage.Last, usage.Avg5m}}
	f.observed = strategies.Observed{View: view, States: map[string]thresholds.NodeState{}, MaxMoves: -1}
	for _, name := range []string{cheap, dear} {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": name[:len(name)-2], v1.LabelHostname: name}}}
		node.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("100Gi"), v1.ResourcePods: resource.MustParse("110")}
		node.Status.Capacity = node.Status.Allocatable
		f.nodes = append(f.nodes, node)
		info := &cluster.NodePods{Node: cluster.Node{Name: name, Allocatable: informed.Amounts(node.Status.Allocatable), Labels: node.Labels, Ready: true, Schedulable: true}}
		read, used := usage.NodeUsage{Sampled: time.Unix(1, 0), SourceSpan: make([]time.Duration, 2)}, cluster.Amounts{500, 1 << 30}
		if name == dear {
			for _, pod := range []string{"web-1", "web-2", "other"} {
				object := podOf(pod)
				uses := cluster.Amounts{1000, 1 << 30}
				f.pods, info.Pods, used = append(f.pods, object), append(info.Pods, informed.Pod(object)), used.Plus(uses)
				read.Pods = append(read.Pods, usage.PodUsage{Measured: true, Used: uses, PeakMilliCores: 1500})
			}
		}
		read.Measured = []cluster.Amounts{used, used}
		read.Current, read.Predicted = read.Measured, read.Measured
		f.observed.States[name] = thresholds.NodeState{State: thresholds.Cool}
		view.Snapshot.Nodes, view.Nodes = append(view.Snapshot.Nodes, info), append(view.Nodes, read)
	}
	return f
}

func podOf(name string) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID(name), Labels: map[string]string{"pod-template-hash": "1"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true)}},
		},
		Spec: v1.PodSpec{
			NodeName: dear, SchedulerName: v1.DefaultSchedulerName,
			Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
				Weight: 50, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "pool", Operator: v1.NodeSelectorOpIn, Values: []string{"cheap"}}}},
			}}}},
		},
	}
	if name == "other" {
		pod.OwnerReferences[0].UID, pod.Spec.Affinity = "other", nil
	}
	return pod
}

// study plans, and explains a pod.
func (f *fleet) study(t *testing.T, about int) strategies.Study {
	t.Helper()
	set, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{
		{Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}},
	}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	f.observed.Lines = set.Resolve(f.observed.View)
	f.observed.Board = scorer.NewBoard(f.observed.View, f.observed.Lines, scorer.Config{})
	filters, err := placement.New(t.Context(), placement.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := filters.Sync(f.nodes, f.pods); err != nil {
		t.Fatal(err)
	}
	handle := &frameworkfake.HandleImpl{
		SharedInformerFactoryImpl: informers.NewSharedInformerFactory(fake.NewClientset(), 0),
		GetPodsAssignedToNodeFuncImpl: func(node string, _ podutil.FilterFunc) (on []*v1.Pod, _ error) {
			for _, pod := range f.pods {
				if pod.Spec.NodeName == node {
					on = append(on, pod)
				}
			}
			return on, nil
		},
	}
	evictor, err := defaultevictor.New(t.Context(), &defaultevictor.DefaultEvictorArgs{}, handle)
	if err != nil {
		t.Fatal(err)
	}
	handle.EvictorFilterImpl = evictor.(frameworktypes.EvictorPlugin)
	p, err := plugin.New(&f.args, handle, plugin.Deps{Half: half{f, filters}, Options: f.options})
	if err != nil {
		t.Fatal(err)
	}
	study, err := p.Study(t.Context(), f.nodes, strategies.Asked{Pod: f.observed.View.Snapshot.Nodes[1].Pods[about]})
	if err != nil {
		t.Fatal(err)
	}
	return study
}

// Refuse refuses the namespaces that the strategy spares.
func (h half) Refuse(_ context.Context, pod *strategies.Candidate, profile *strategies.Profile) reasons.Reason {
	if profile.Spares(pod.Object.Namespace) {
		return reasons.NamespaceExcluded
	}
	return h.refused
}

// half is the evicting half of a fleet.
type half struct {
	*fleet
	filters *placement.Filters
}

func (h half) Observe() strategies.Observed                        { return h.observed }
func (h half) Session(context.Context) (*placement.Session, error) { return h.filters.Begin(), nil }
func (h half) Protection(*v1.Pod) (reasons.Reason, string)         { return "", "" }
func (h half) Disruption(*v1.Pod) strategies.Disruption            { return strategies.Disruption{} }
func (h half) Moving(string) bool                                  { return false }

// Pods go to a cool node that they prefer, and stay if their preference is not
// known, or the node is not cool, has no room for their peak, or is not
// preferred by enough.
func TestPodsReturnToPreferredNodes(t *testing.T) {
	both := []string{"web-1: dear-0 -> cheap-0", "web-2: dear-0 -> cheap-0"}
	for name, tc := range map[string]struct {
		change func(*fleet)
		want   []string
		// stays and landing are why the pod web-2 stays, and why the other node does not
		// take it, if it is not moved.
		stays, landing reasons.Reason
	}{
		"the preferred node is cool":         {func(*fleet) {}, both, "", ""},
		"it is warm":                         {func(f *fleet) { f.state(cheap, thresholds.Warm) }, nil, reasons.NotPreferred, reasons.NodeNotCool},
		"it is unknown":                      {func(f *fleet) { f.state(cheap, thresholds.Unknown) }, nil, reasons.NotPreferred, reasons.NodeNotCool},
		"it is cordoned":                     {func(f *fleet) { f.observed.View.Snapshot.Nodes[0].Node.Schedulable = false }, nil, reasons.NotPreferred, reasons.NodeClosed},
		"it was left lately":                 {func(f *fleet) { f.observed.Begun = map[string]bool{cheap: true} }, nil, reasons.NotPreferred, reasons.NotPreferred},
		"the usage of their node is unknown": {func(f *fleet) { f.state(dear, thresholds.Unknown) }, nil, "", ""},
		"nothing may be evicted":             {func(f *fleet) { f.observed.Closed = "OutsideWindow" }, nil, "", ""},
		"a weight of 50 is not enough":       {func(f *fleet) { f.args.MinWeightGained = 51 }, nil, reasons.NotPreferred, reasons.NotPreferred},
		"it has room for one at its peak": {func(f *fleet) {
			f.observed.View.Nodes[0].Predicted = []cluster.Amounts{{4000, 1 << 30}, {4000, 1 << 30}}
		}, both[:1], reasons.NoLanding, ""},
		"it is full for kube-scheduler": {func(f *fleet) {
			for _, pod := range f.pods {
				pod.Spec.NodeSelector = map[string]string{"pool": "dear"}
			}
		}, nil, reasons.NoLanding, reasons.FilterRefuses},
		"they may not be moved": {func(f *fleet) { f.refused = reasons.OwnerCoolingDown }, nil, reasons.OwnerCoolingDown, ""},
		"one move may be made":  {func(f *fleet) { f.options.MaxMoves = 1 }, both[:1], reasons.MoveLimit, ""},
		"an hour has one move left": {func(f *fleet) {
			f.observed.Beside = func(_ *cluster.Pod, ofOwner, _ int) (reasons.Reason, string) {
				if ofOwner > 0 {
					return reasons.OwnerMovesPerHour, ""
				}
				return "", ""
			}
		}, both[:1], reasons.OwnerMovesPerHour, ""},
		"their namespace is spared": {func(f *fleet) { f.args.EvictableNamespaces = &api.Namespaces{Exclude: []string{"shop"}} }, nil, reasons.NamespaceExcluded, ""},
		"they are there already":    {func(f *fleet) { f.nodes[1].Labels["pool"] = "cheap" }, nil, reasons.NotPreferred, reasons.NotPreferred},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			tc.change(f)
			study := f.study(t, 1)
			var got []string
			for i := range study.Made.Plan.Moves {
				m := &study.Made.Plan.Moves[i]
				if got = append(got, m.Name+": "+m.From+" -> "+m.To); m.Reason != reasons.PreferredNode || m.ToAfter[cluster.CPU] <= m.ToBefore[cluster.CPU] {
					t.Errorf("%s: %s, destination %v -> %v", m.Name, m.Reason, m.ToBefore, m.ToAfter)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
			if why := stays(&study, "web-2"); why != tc.stays {
				t.Errorf("web-2 stays for %q, want %q", why, tc.stays)
			}
			if tc.landing != "" && (len(study.Landings) != 1 || study.Landings[0].Refused != tc.landing) {
				t.Errorf("landings %+v, want one refused for %s", study.Landings, tc.landing)
			}
		})
	}
}

// stays returns why the plan leaves a pod where it is.
func stays(study *strategies.Study, pod string) reasons.Reason {
	for i := range study.Made.Plan.Declined {
		if d := &study.Made.Plan.Declined[i]; d.Name == pod {
			return d.Reason
		}
	}
	if study.Made.Basis == nil || study.Pod == nil {
		return ""
	}
	why, _ := study.Made.Basis.Stays(study.Pod.Pod)
	return why
}

// Pods without preferences are not mentioned.
func TestPodsWithoutPreferencesStay(t *testing.T) {
	study := newFleet(t).study(t, 2)
	if why, words := study.Made.Basis.Stays(study.Pod.Pod); why != reasons.NotPreferred || words != "it has no preferred node affinity" {
		t.Errorf("stays for %q: %s", why, words)
	}
}

// Once moved, a pod is not moved again.
func TestReturnedPodsStay(t *testing.T) {
	f := newFleet(t)
	from, to, view := f.observed.View.Snapshot.Nodes[1], f.observed.View.Snapshot.Nodes[0], f.observed.View
	for _, pod := range f.pods {
		pod.Spec.NodeName = cheap
		to.Pods = append(to.Pods, informed.Pod(pod))
	}
	from.Pods = []*cluster.Pod{{UID: "gone", Node: dear}}
	view.Nodes[0].Pods, view.Nodes[1].Pods = view.Nodes[1].Pods, []usage.PodUsage{{}}
	if moves := f.study(t, 0).Made.Plan.Moves; len(moves) > 0 {
		t.Errorf("planned %+v", moves)
	}
}

func TestValidate(t *testing.T) {
	for weight, want := range map[int64]string{
		0: "", 1: "", 10_000: "",
		-1:     "minWeightGained: Invalid value: -1: must be from 1 to 10000",
		10_001: "minWeightGained: Invalid value: 10001: must be from 1 to 10000",
	} {
		got := ""
		if errs := (&Args{MinWeightGained: weight}).Validate(); len(errs) > 0 {
			got = errs.ToAggregate().Error()
		}
		if got != want {
			t.Errorf("%d: %q, want %q", weight, got, want)
		}
	}
}

func (f *fleet) state(node string, state thresholds.State) {
	f.observed.States[node] = thresholds.NodeState{State: state}
}
