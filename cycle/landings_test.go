package cycle

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/nodeutilization"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/podlifetime"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removeduplicates"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removepodsviolatinginterpodantiaffinity"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removepodsviolatingnodeaffinity"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removepodsviolatingtopologyspreadconstraint"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// site is a fake cluster in which a planned move immediately puts the replacement on its
// destination.
type site struct {
	t       testing.TB
	client  *fake.Clientset
	factory informers.SharedInformerFactory
	ledger  *ledger.Ledger
	runner  *Runner
	// moves holds the moves of all cycles in the form "pod: from to", and declined the number of
	// declined pods of the last cycle by reason.
	moves    []string
	declined map[reasons.Reason]int
	// applies reports whether moves change the cluster.
	applies bool
}

// zoned returns nodes in zones: the first number is the number of nodes in zone a, the next that in
// zone b, and so on.
func zoned(perZone ...int) (nodes []*v1.Node) {
	for zone, n := range perZone {
		for range n {
			nodes = append(nodes, &v1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", len(nodes)), Labels: map[string]string{
					v1.LabelTopologyZone: string(rune('a' + zone)), v1.LabelHostname: fmt.Sprintf("node-%d", len(nodes)),
				}},
				Status: v1.NodeStatus{
					Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
					Allocatable: v1.ResourceList{
						v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110"),
					},
				},
			})
			nodes[len(nodes)-1].Status.Capacity = nodes[len(nodes)-1].Status.Allocatable
		}
	}
	return nodes
}

// replicas returns a ReplicaSet and its pods on the nodes with the given numbers.
func replicas(name string, template v1.PodSpec, on ...int) []runtime.Object {
	long := metav1.NewTime(time.Now().Add(-time.Hour))
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("rs-" + name), CreationTimestamp: long, Generation: 1},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(len(on))), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}, Spec: template},
		},
		Status: appsv1.ReplicaSetStatus{Replicas: int32(len(on)), ReadyReplicas: int32(len(on)), AvailableReplicas: int32(len(on)), ObservedGeneration: 1},
	}
	objects := []runtime.Object{set}
	for i, node := range on {
		spec := *template.DeepCopy()
		spec.NodeName, spec.SchedulerName, spec.RestartPolicy = fmt.Sprintf("node-%d", node), v1.DefaultSchedulerName, v1.RestartPolicyAlways
		if spec.Containers == nil {
			spec.Containers = asking("100m")
		}
		pod := &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: fmt.Sprintf("%s-%d", name, i), UID: types.UID(fmt.Sprintf("%s-%d", name, i)), CreationTimestamp: long,
				Labels: map[string]string{"app": name}, ResourceVersion: "1",
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: set.UID, Controller: new(true)}},
			},
			Spec: spec,
			Status: v1.PodStatus{
				Phase: v1.PodRunning, StartTime: &long,
				Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: long}},
			},
		}
		objects = append(objects, pod)
	}
	return objects
}

func asking(cpu string) []v1.Container {
	return []v1.Container{{Name: "main", Image: "app", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
		v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse("64Mi"),
	}}}}
}

func spreadOver(key string, when v1.UnsatisfiableConstraintAction, app string) v1.TopologySpreadConstraint {
	return v1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: when, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
	}
}

// upstreams returns a policy that runs one upstream plugin, with nodeFit.
func upstreams(name string, args runtime.Object, balances bool) *api.DeschedulerPolicy {
	profile := api.DeschedulerProfile{
		Name: "default",
		PluginConfigs: []api.PluginConfig{
			{Name: defaultevictor.PluginName, Args: &defaultevictor.DefaultEvictorArgs{PriorityThreshold: &api.PriorityThreshold{Value: new(int32(1 << 30))}, NodeFit: true}},
			{Name: name, Args: args},
		},
		Plugins: api.Plugins{
			Filter:            api.PluginSet{Enabled: []string{defaultevictor.PluginName}},
			PreEvictionFilter: api.PluginSet{Enabled: []string{defaultevictor.PluginName}},
		},
	}
	if balances {
		profile.Plugins.Balance = api.PluginSet{Enabled: []string{name}}
	} else {
		profile.Plugins.Deschedule = api.PluginSet{Enabled: []string{name}}
	}
	return &api.DeschedulerPolicy{Profiles: []api.DeschedulerProfile{profile}}
}

// bothKinds returns a policy that asks for hard and soft constraints to be kept.
func bothKinds() *api.DeschedulerPolicy {
	return upstreams(removepodsviolatingtopologyspreadconstraint.PluginName, &removepodsviolatingtopologyspreadconstraint.RemovePodsViolatingTopologySpreadConstraintArgs{
		Constraints: []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}, TopologyBalanceNodeFit: new(true),
	}, true)
}

func newSite(t testing.TB, policy *api.DeschedulerPolicy, nodes []*v1.Node, workloads ...[]runtime.Object) *site {
	t.Helper()
	descheduler.SetupPlugins()
	objects := []runtime.Object{&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}}
	for _, node := range nodes {
		objects = append(objects, node)
	}
	for _, workload := range workloads {
		objects = append(objects, workload...)
	}
	s := &site{t: t, client: fake.NewClientset(objects...), ledger: ledger.New(ledger.Config{}), applies: true}
	s.factory = informers.NewSharedInformerFactory(s.client, 0)
	s.factory.Core().V1().Nodes().Informer()
	watched := evictor.NewWatched(s.factory, s.ledger, blind{})
	filters, err := placement.New(t.Context(), placement.Config{Informers: s.factory})
	if err != nil {
		t.Fatal(err)
	}
	if err := watched.WatchOwners(filters); err != nil {
		t.Fatal(err)
	}
	half, err := evictor.New(evictor.Config{
		Observer: s, Cluster: watched, Evictions: blind{}, DryRun: blind{}, Clock: blind{},
		Settings: evictor.Settings{
			Safeguards: safeguards.New(safeguards.Config{Cooldown: safeguards.Cooldown{Base: time.Hour}, MaxPerHour: 100, MaxPerHourOfNamespace: 100, MaxPerHourOfOwner: 100}),
			Deadline:   time.Minute, SchedulerNames: []string{v1.DefaultSchedulerName}, OwnerPercent: 100,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	find, err := PodsOnNode(s.factory)
	if err != nil {
		t.Fatal(err)
	}
	s.runner, err = New(t.Context(), Config{
		Evictor: half, Executor: s, Landings: true, PodsOnNode: find,
		Policy: policy, Instance: "1", Registry: pluginregistry.PluginRegistry, Client: func(evictor.Place) kubernetes.Interface { return s.client }, DryRunClient: func(evictor.Place) kubernetes.Interface { return s.client }, BeginDryRun: func() {}, Informers: s.factory,
		Events: events.NewFakeRecorder(100), Total: func() uint { return 0 }, Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	watching := watchOfPods(s.client)
	s.factory.Start(t.Context().Done())
	s.factory.WaitForCacheSync(t.Context().Done())
	select {
	case <-watching:
	case <-t.Context().Done():
	}
	return s
}

// watchOfPods returns a channel that is closed when pods are watched. The fake API server does not
// replay changes between a list and its watch.
func watchOfPods(client *fake.Clientset) <-chan struct{} {
	watching := make(chan struct{})
	started := sync.OnceFunc(func() { close(watching) })
	client.PrependWatchReactor("pods", func(action clienttesting.Action) (bool, watch.Interface, error) {
		options := metav1.ListOptions{}
		if asked, is := action.(clienttesting.WatchActionImpl); is {
			options = asked.ListOptions
		}
		watched, err := client.Tracker().Watch(action.GetResource(), action.GetNamespace(), options)
		if err == nil {
			started()
		}
		return true, watched, err //nolint:wrapcheck // as the fake does
	})
	return watching
}

// Latest implements evictor.Observer. No usage is read.
func (s *site) Latest() *observer.Observation { return nil }
func (s *site) Ledger() *ledger.Ledger        { return s.ledger }

// Planned implements Executor.
func (s *site) Planned(_ context.Context, _ *plugin.Plugin, made *strategies.Made) {
	s.declined = map[reasons.Reason]int{}
	for i := range made.Plan.Declined {
		s.declined[made.Plan.Declined[i].Reason]++
		s.t.Logf("%s stays: %s: %s", made.Plan.Declined[i].Name, made.Plan.Declined[i].Reason, made.Plan.Declined[i].Detail)
	}
}

// Make implements Executor.
func (s *site) Make(ctx context.Context, plan *strategies.Plan, _ *strategies.Profile) []strategies.Move {
	for i := range plan.Moves {
		m := &plan.Moves[i]
		s.moves = append(s.moves, fmt.Sprintf("%s: %s %s", m.Name, m.From, m.To))
		if !s.applies {
			continue
		}
		pods := s.client.CoreV1().Pods(m.Namespace)
		pod, err := pods.Get(ctx, m.Name, metav1.GetOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		if err := pods.Delete(ctx, m.Name, metav1.DeleteOptions{}); err != nil {
			s.t.Fatal(err)
		}
		pod.Name, pod.UID, pod.Spec.NodeName = m.Name+"x", pod.UID+"x", m.To
		if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
	s.settle(ctx)
	return nil
}

// settle waits until the watch shows the current pods.
func (s *site) settle(ctx context.Context) {
	s.t.Helper()
	want, err := s.client.CoreV1().Pods("shop").List(ctx, metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		shown, _ := s.factory.Core().V1().Pods().Lister().List(labels.Everything())
		names := map[string]bool{}
		for _, pod := range shown {
			names[pod.Name] = true
		}
		same := len(shown) == len(want.Items)
		for i := range want.Items {
			same = same && names[want.Items[i].Name]
		}
		if same {
			return
		}
	}
	s.t.Fatal("the watch shows other pods than there are")
}

// cycles runs cycles.
func (s *site) cycles(n int) {
	s.t.Helper()
	for range n {
		if err := s.runner.Run(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// homes counts the pods of a workload by node.
func (s *site) homes(app string) map[string]int {
	s.t.Helper()
	pods, err := s.client.CoreV1().Pods("shop").List(s.t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		s.t.Fatal(err)
	}
	homes := map[string]int{}
	for i := range pods.Items {
		homes[pods.Items[i].Spec.NodeName]++
	}
	return homes
}

// Nine replicas with a hard spread constraint over zones and a soft one over nodes run on nine
// nodes, in zones of five, two and two. Each zone has three replicas, so two nodes have two. The
// plugin asks to evict one of these pods in each cycle, but its replacement could only go to a node
// with the same violation.
func TestNoLoopWhereSpreadCannotGetBetter(t *testing.T) {
	web := v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{
		spreadOver(v1.LabelTopologyZone, v1.DoNotSchedule, "web"), spreadOver(v1.LabelHostname, v1.ScheduleAnyway, "web"),
	}}
	s := newSite(t, bothKinds(), zoned(5, 2, 2), replicas("web", web, 0, 1, 2, 5, 5, 6, 7, 8, 8))
	s.cycles(5)
	if len(s.moves) > 0 {
		t.Errorf("moves %q", s.moves)
	}
	if s.declined[reasons.NoBetterPlace]+s.declined[reasons.WouldComeBack] == 0 {
		t.Errorf("the plugin was not refused: %v", s.declined)
	}
}

// A violation that can be resolved is resolved with the fewest moves.
func TestAViolationEndsWithTheFewestMoves(t *testing.T) {
	spread := v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{spreadOver(v1.LabelTopologyZone, v1.DoNotSchedule, "web")}}
	both := v1.PodSpec{TopologySpreadConstraints: []v1.TopologySpreadConstraint{
		spreadOver(v1.LabelTopologyZone, v1.DoNotSchedule, "web"), spreadOver(v1.LabelHostname, v1.ScheduleAnyway, "web"),
	}}
	apart := v1.PodSpec{Affinity: &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
		{TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}}}}
	inZoneB := v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
		NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{"b"}}}}},
	}}}}
	prefersB := v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
		Weight: 10, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{"b"}}}},
	}}}}}
	big := v1.PodSpec{Containers: asking("2")}
	affinity := func(kind string) *api.DeschedulerPolicy {
		return upstreams(removepodsviolatingnodeaffinity.PluginName, &removepodsviolatingnodeaffinity.RemovePodsViolatingNodeAffinityArgs{NodeAffinityType: []string{kind}}, false)
	}
	for name, tc := range map[string]struct {
		policy *api.DeschedulerPolicy
		nodes  []*v1.Node
		pods   []runtime.Object
		// want is the number of moves, and homes the number of pods on each node at the end.
		want  int
		homes map[string]int
	}{
		"six in one zone and one in the other": {
			bothKinds(), zoned(3, 3), replicas("web", spread, 0, 0, 1, 1, 2, 2, 3), 2, nil,
		},
		"the same, and a spread over nodes": {
			bothKinds(), zoned(6, 3), replicas("web", both, 0, 1, 2, 3, 4, 5, 6), 2, nil,
		},
		"duplicates": {
			upstreams(removeduplicates.PluginName, &removeduplicates.RemoveDuplicatesArgs{}, true), zoned(3), replicas("web", v1.PodSpec{}, 0, 0, 0), 2,
			map[string]int{"node-0": 1, "node-1": 1, "node-2": 1},
		},
		"pods that exclude each other": {
			upstreams(removepodsviolatinginterpodantiaffinity.PluginName, &removepodsviolatinginterpodantiaffinity.RemovePodsViolatingInterPodAntiAffinityArgs{}, false),
			zoned(3), replicas("web", apart, 0, 0, 1), 1, map[string]int{"node-0": 1, "node-1": 1, "node-2": 1},
		},
		"a required zone": {
			affinity("requiredDuringSchedulingIgnoredDuringExecution"), zoned(2, 1), replicas("web", inZoneB, 0, 1), 2, map[string]int{"node-2": 2},
		},
		"a preferred zone": {
			affinity("preferredDuringSchedulingIgnoredDuringExecution"), zoned(2, 1), replicas("web", prefersB, 0, 1), 2, map[string]int{"node-2": 2},
		},
		"a node that is asked for too much": {
			upstreams(nodeutilization.LowNodeUtilizationPluginName, &nodeutilization.LowNodeUtilizationArgs{
				Thresholds: api.ResourceThresholds{v1.ResourceCPU: 20}, TargetThresholds: api.ResourceThresholds{v1.ResourceCPU: 50},
			}, true), zoned(3), replicas("web", big, 0, 0, 0, 0), 2, map[string]int{"node-0": 2, "node-1": 1, "node-2": 1},
		},
		"a node that is asked for too little": {
			upstreams(nodeutilization.HighNodeUtilizationPluginName, &nodeutilization.HighNodeUtilizationArgs{Thresholds: api.ResourceThresholds{v1.ResourceCPU: 30}}, true),
			zoned(3), replicas("web", big, 0, 1, 1, 2, 2), 1, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, tc.policy, tc.nodes, tc.pods)
			s.cycles(3)
			if len(s.moves) != tc.want {
				t.Errorf("moves %q, want %d; declined %v", s.moves, tc.want, s.declined)
			}
			if diff := cmp.Diff(tc.homes, s.homes("web")); tc.homes != nil && diff != "" {
				t.Errorf("pods by node (-want +got):\n%s", diff)
			}
		})
	}
}

// If pods stay on a node, a plugin that relieves it asks for other pods instead, as it does when
// evictions fail.
func TestOtherPodsRelieveANode(t *testing.T) {
	for name, stays := range map[string]func(*v1.PodSpec){
		"another scheduler places it": func(spec *v1.PodSpec) { spec.SchedulerName = "other" },
		"it would come back": func(spec *v1.PodSpec) {
			spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
				Weight: 10, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{"node-0"}}}},
			}}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			pinned := replicas("pinned", v1.PodSpec{Containers: asking("2"), Priority: new(int32(-1))}, 0, 0)
			for _, object := range pinned {
				if pod, ok := object.(*v1.Pod); ok {
					stays(&pod.Spec)
				}
			}
			policy := upstreams(nodeutilization.LowNodeUtilizationPluginName, &nodeutilization.LowNodeUtilizationArgs{
				Thresholds: api.ResourceThresholds{v1.ResourceCPU: 20}, TargetThresholds: api.ResourceThresholds{v1.ResourceCPU: 50},
			}, true)
			s := newSite(t, policy, zoned(3), pinned, replicas("web", v1.PodSpec{Containers: asking("2"), Priority: new(int32(1))}, 0, 0))
			s.cycles(3)
			if diff := cmp.Diff(map[string]int{"node-1": 1, "node-2": 1}, s.homes("web")); diff != "" {
				t.Errorf("pods by node (-want +got):\n%s\nmoves %q, declined %v", diff, s.moves, s.declined)
			}
		})
	}
}

// The plan is the same each time, even though some plugins ask in random order.
func TestPlansOfPluginsAreTheSameTwice(t *testing.T) {
	var first []string
	for i := range 20 {
		var all [][]runtime.Object
		for app := range 8 {
			all = append(all, replicas(fmt.Sprintf("app%d", app), v1.PodSpec{Containers: asking(fmt.Sprintf("%dm", 100+100*app))}, 0, 0))
		}
		s := newSite(t, upstreams(removeduplicates.PluginName, &removeduplicates.RemoveDuplicatesArgs{}, true), zoned(4), all...)
		s.applies = false
		s.cycles(1)
		if i == 0 {
			first = s.moves
			continue
		}
		if diff := cmp.Diff(first, s.moves); diff != "" {
			t.Fatalf("another plan (-first +now):\n%s", diff)
		}
	}
}

// A Deschedule plugin whose evictions are planned may come after one that evicts by itself.
func TestPlannedAfterEvicting(t *testing.T) {
	policy := upstreams(removepodsviolatingnodeaffinity.PluginName, &removepodsviolatingnodeaffinity.RemovePodsViolatingNodeAffinityArgs{
		NodeAffinityType: []string{"requiredDuringSchedulingIgnoredDuringExecution"},
	}, false)
	profile := &policy.Profiles[0]
	profile.PluginConfigs = append(profile.PluginConfigs, api.PluginConfig{Name: podlifetime.PluginName, Args: &podlifetime.PodLifeTimeArgs{MaxPodLifeTimeSeconds: new(uint(86400))}})
	profile.Plugins.Deschedule.Enabled = []string{podlifetime.PluginName, removepodsviolatingnodeaffinity.PluginName}
	nodes := zoned(3)
	nodes[2].Labels["disk"] = "ssd"
	web := v1.PodSpec{Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpIn, Values: []string{"ssd"}}},
	}}}}}}
	s := newSite(t, policy, nodes, replicas("web", web, 0, 2))
	s.cycles(1)
	if diff := cmp.Diff([]string{"web-0: node-0 node-2"}, s.moves); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
}
