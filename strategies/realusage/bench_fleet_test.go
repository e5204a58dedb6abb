package realusage

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	frameworkfake "sigs.k8s.io/descheduler/pkg/framework/fake"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/informed"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/plugin/plugintest"
)

const (
	benchPods = 30
	// hotMoves is the smallest number of moves that cools a hot node of a fleet.
	hotMoves = 7
)

// fleet is a cluster of 32-core nodes in three zones, with 30 pods each and as many workloads as
// nodes. A tenth of the nodes is hot.
type fleet struct {
	nodes    []*v1.Node
	pods     []*v1.Pod
	observed strategies.Observed
	// uses is the usage of each pod, by name.
	uses    map[string]cluster.Amounts
	shared  informers.SharedInformerFactory
	podsOf  podutil.GetPodsAssignedToNodeFunc
	filters *placement.Filters
	churned int
	// hotEvery makes one in this many nodes hot.
	hotEvery int
}

func newFleet(tb testing.TB, nodes int, decorate func(workload int, pod *v1.Pod)) *fleet {
	tb.Helper()
	return newFleetOf(tb, nodes, 10, decorate)
}

func newFleetOf(tb testing.TB, nodes, hotEvery int, decorate func(workload int, pod *v1.Pod)) *fleet {
	tb.Helper()
	f := &fleet{hotEvery: hotEvery, uses: map[string]cluster.Amounts{}, shared: informers.NewSharedInformerFactory(nil, 0)}
	view := &usage.View{Snapshot: &cluster.Snapshot{}, Windows: []usage.Window{usage.Last, usage.Avg5m}}
	f.observed = strategies.Observed{View: view, States: map[string]thresholds.NodeState{}, MaxMoves: -1}
	for i := range nodes {
		f.add(i, nodes, decorate)
	}
	set, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{
		{Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}},
		{Metric: usage.Memory, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 60, Reject: 75, Evict: 80, Leave: 75}},
	}}}, 3)
	if err != nil {
		tb.Fatal(err)
	}
	f.observed.Lines = set.Resolve(view)
	f.observed.Board = scorer.NewBoard(view, f.observed.Lines, scorer.Config{})
	f.store(tb)
	if f.filters, err = placement.New(tb.Context(), placement.Config{}); err != nil {
		tb.Fatal(err)
	}
	if err := f.filters.Sync(f.nodes, f.pods); err != nil {
		tb.Fatal(err)
	}
	return f
}

// add adds a node with its pods to the cluster and to the observation.
func (f *fleet) add(i, nodes int, decorate func(int, *v1.Pod)) {
	node, hot := benchNode(i), i%f.hotEvery == 0
	info := &cluster.NodePods{Node: cluster.Node{
		Name: node.Name, Allocatable: informed.Amounts(node.Status.Allocatable), Ready: true, Schedulable: true,
	}}
	read := usage.NodeUsage{Sampled: time.Unix(1, 0), SourceSpan: make([]time.Duration, 2)}
	used := cluster.Amounts{150, 1 << 30} // usage of the system
	for k := range benchPods {
		pod := benchPod(i, k, nodes)
		decorate((i+nodes-k)%nodes, pod)
		uses := cluster.Amounts{400 - int64(i%30)*3, 2 << 30}
		if hot { // 7,100m above the evict line, which is more than 6 of the pods use and less than 7 use
			uses[cluster.CPU] = 780 + int64(k)*10
		}
		f.pods, f.uses[pod.Name] = append(f.pods, pod), uses
		info.Pods, used = append(info.Pods, informed.Pod(pod)), used.Plus(uses)
		read.Pods = append(read.Pods, usage.PodUsage{Measured: true, Used: uses})
	}
	read.Measured = []cluster.Amounts{used, used}
	read.Current, read.Predicted = read.Measured, read.Measured
	f.nodes = append(f.nodes, node)
	f.observed.States[node.Name] = thresholds.NodeState{State: thresholds.Cool}
	if hot {
		f.observed.States[node.Name] = thresholds.NodeState{State: thresholds.Hot}
	}
	view := f.observed.View
	view.Snapshot.Nodes, view.Nodes = append(view.Snapshot.Nodes, info), append(view.Nodes, read)
}

// store fills the stores of the informers from which plugins list. Nothing is watched.
func (f *fleet) store(tb testing.TB) {
	tb.Helper()
	nodes, pods := f.shared.Core().V1().Nodes().Informer(), f.shared.Core().V1().Pods().Informer()
	var err error
	if f.podsOf, err = podutil.BuildGetPodsAssignedToNodeFunc(pods); err != nil {
		tb.Fatal(err)
	}
	for _, node := range f.nodes {
		if err := nodes.GetIndexer().Add(node); err != nil {
			tb.Fatal(err)
		}
	}
	for _, pod := range f.pods {
		if err := pods.GetIndexer().Add(pod); err != nil {
			tb.Fatal(err)
		}
	}
}

// plugin returns Evenkeel's strategy on the fleet.
func (f *fleet) plugin(tb testing.TB, session func(context.Context) (*placement.Session, error), change ...func(*plugin.Options)) *plugin.Plugin {
	tb.Helper()
	options := plugin.Options{}
	for _, c := range change {
		c(&options)
	}
	p, err := plugin.New(&Args{}, f.handle(tb, false), plugin.Deps{
		Half: &plugintest.Half{Observed: &f.observed, Open: session, Costs: func(pod *v1.Pod) strategies.Disruption {
			return strategies.Disruption{Order: int64(len(pod.OwnerReferences))}
		}},
		Options: options,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// handle returns the framework's handle, with its DefaultEvictor.
func (f *fleet) handle(tb testing.TB, nodeFit bool) *frameworkfake.HandleImpl {
	tb.Helper()
	handle := &frameworkfake.HandleImpl{SharedInformerFactoryImpl: f.shared, GetPodsAssignedToNodeFuncImpl: f.podsOf}
	evictor, err := defaultevictor.New(tb.Context(), &defaultevictor.DefaultEvictorArgs{NodeFit: nodeFit}, handle)
	if err != nil {
		tb.Fatal(err)
	}
	handle.EvictorFilterImpl = evictor.(frameworktypes.EvictorPlugin)
	return handle
}

// begin opens a session on the snapshot without updating it.
func (f *fleet) begin(context.Context) (*placement.Session, error) { return f.filters.Begin(), nil }

// sync updates the snapshot to the content of the watches, and opens a session on it.
func (f *fleet) sync(context.Context) (*placement.Session, error) {
	nodes, err := f.shared.Core().V1().Nodes().Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	pods, err := f.shared.Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	if err := f.filters.Sync(nodes, pods); err != nil {
		return nil, err
	}
	return f.filters.Begin(), nil
}

// churn makes the watches deliver a newer version of one in a hundred pods.
func (f *fleet) churn() {
	f.churned++
	indexer := f.shared.Core().V1().Pods().Informer().GetIndexer()
	for i := f.churned % 100; i < len(f.pods); i += 100 {
		newer := *f.pods[i]
		newer.ResourceVersion = fmt.Sprint(f.churned + 1)
		f.pods[i] = &newer
		_ = indexer.Update(&newer) // cannot fail, because the key is the pod's name
	}
}

func benchNode(i int) *v1.Node {
	name := fmt.Sprintf("node-%05d", i)
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1", Labels: map[string]string{
			v1.LabelHostname: name, v1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3),
		}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("32"), v1.ResourceMemory: resource.MustParse("256Gi"), v1.ResourcePods: resource.MustParse("110"),
		}},
	}
}

func benchPod(node, k, nodes int) *v1.Pod {
	workload := (node + nodes - k) % nodes
	app := fmt.Sprintf("app-%05d", workload)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: fmt.Sprintf("%s-%05d", app, node), UID: types.UID(fmt.Sprintf("uid-%05d-%02d", node, k)), ResourceVersion: "1",
			Labels:          map[string]string{"app": app, "pod-template-hash": app},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID(app), Controller: new(true)}},
		},
		Spec: v1.PodSpec{NodeName: fmt.Sprintf("node-%05d", node), SchedulerName: v1.DefaultSchedulerName, Containers: []v1.Container{{
			Name: "main", Resources: v1.ResourceRequirements{
				Requests: v1.ResourceList{v1.ResourceCPU: benchCPU(workload), v1.ResourceMemory: resource.MustParse("1Gi")},
			},
		}}},
		Status: v1.PodStatus{Phase: v1.PodRunning},
	}
}

// benchCPU returns the CPU request of a workload's pods, which is one of 40 sizes around 500m.
func benchCPU(workload int) resource.Quantity {
	return *resource.NewMilliQuantity(int64(305+workload%40*10), resource.DecimalSI)
}

func plain(int, *v1.Pod) {}

// repelling keeps replicas on different nodes.
func repelling(_ int, p *v1.Pod) {
	p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
		TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}},
	}}}}
}

// spreading spreads replicas evenly over the zones.
func spreading(_ int, p *v1.Pod) {
	p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}},
	}}
}

// mixed gives 20 % of the workloads spread constraints and 20 % anti-affinity.
func mixed(workload int, p *v1.Pod) {
	switch workload % 5 {
	case 0:
		spreading(workload, p)
	case 1:
		repelling(workload, p)
	}
}

// preferring gives 20 % of the workloads a soft spread constraint, and 20 % a preference for nodes
// without other replicas, so that their destinations are scored.
func preferring(workload int, p *v1.Pod) {
	switch workload % 5 {
	case 0:
		spreading(workload, p)
		p.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable = v1.ScheduleAnyway
	case 1:
		repelling(workload, p)
		required := p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		p.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: required[0]}},
		}
	}
}

// demanding gives 20 % of the workloads each of these: hard spread constraints, hard anti-affinity,
// and both as preferences, which are scored.
func demanding(workload int, p *v1.Pod) {
	switch workload % 5 {
	case 0, 1:
		mixed(workload, p)
	case 2, 3:
		preferring(workload-2, p)
	}
}
