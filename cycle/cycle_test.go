package cycle

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/podlifetime"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/preferred"
	"github.com/evenkeel/evenkeel/strategies/realusage"
	"github.com/evenkeel/evenkeel/strategies/registry"
)

// world is a fake cluster of two nodes and two namespaces, with an old pod in each namespace.
type world struct {
	t       *testing.T
	client  *fake.Clientset
	factory informers.SharedInformerFactory
	evicted []string
	took    []string // the turns of a cycle
}

func newWorld(t *testing.T) *world {
	old := metav1.NewTime(time.Now().Add(-time.Hour))
	objects := []runtime.Object{}
	for _, name := range []string{"n1", "n2"} {
		objects = append(objects, &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status:     v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
		})
	}
	for _, team := range []string{"red", "blue"} {
		controller := true
		objects = append(objects,
			&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team, Labels: map[string]string{"team": team}}},
			&v1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: team, Name: "web", UID: types.UID(team), CreationTimestamp: old,
					OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: types.UID("rs-" + team), Controller: &controller}},
				},
				Spec:   v1.PodSpec{NodeName: "n1"},
				Status: v1.PodStatus{Phase: v1.PodRunning, StartTime: &old},
			})
	}
	w := &world{t: t, client: fake.NewClientset(objects...)}
	w.client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "eviction" {
			return false, nil, nil
		}
		w.evicted = append(w.evicted, action.GetNamespace())
		return true, nil, nil
	})
	w.factory = informers.NewSharedInformerFactory(w.client, 0)
	w.factory.Core().V1().Nodes().Informer()
	return w
}

// Planned implements Executor.
func (w *world) Planned(_ context.Context, by *plugin.Plugin, made *strategies.Made) {
	w.took = append(w.took, by.Profile().Name+": "+by.Name()+" planned: "+made.Closed)
}

// Make implements Executor.
func (w *world) Make(_ context.Context, _ *strategies.Plan, profile *strategies.Profile) []strategies.Move {
	w.took = append(w.took, profile.Name+": "+profile.Strategy+" moved")
	return nil
}

// blind provides what an evictor needs, without any observation.
type blind struct {
	evictor.Cluster
	evictor.Evictions
}

func (blind) Latest() *observer.Observation { return nil }
func (blind) Ledger() *ledger.Ledger        { return ledger.New(ledger.Config{}) }
func (blind) Now() time.Time                { return time.Now() }
func (blind) Local() time.Time              { return time.Now() }

// lifetime returns a policy that evicts old pods in namespaces with a label.
func lifetime(team string) *api.DeschedulerPolicy {
	seconds := uint(60)
	return &api.DeschedulerPolicy{Profiles: []api.DeschedulerProfile{{
		Name: "default",
		PluginConfigs: []api.PluginConfig{
			{Name: defaultevictor.PluginName, Args: &defaultevictor.DefaultEvictorArgs{
				PriorityThreshold:      &api.PriorityThreshold{Value: new(int32(1 << 30))},
				NamespaceLabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": team}},
			}},
			{Name: podlifetime.PluginName, Args: &podlifetime.PodLifeTimeArgs{MaxPodLifeTimeSeconds: &seconds}},
		},
		Plugins: api.Plugins{
			Deschedule:        api.PluginSet{Enabled: []string{podlifetime.PluginName}},
			Filter:            api.PluginSet{Enabled: []string{defaultevictor.PluginName}},
			PreEvictionFilter: api.PluginSet{Enabled: []string{defaultevictor.PluginName}},
		},
	}}}
}

func (w *world) config(instance string, policy *api.DeschedulerPolicy) Config {
	w.t.Helper()
	half, err := evictor.New(evictor.Config{
		Observer: blind{}, Cluster: blind{}, Evictions: blind{}, DryRun: blind{}, Clock: blind{},
		Settings: evictor.Settings{Safeguards: safeguards.New(safeguards.Config{}), Deadline: time.Minute},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return Config{
		Evictor: half, Executor: w,
		Policy: policy, Instance: instance, Registry: pluginregistry.PluginRegistry, Client: func(evictor.Place) kubernetes.Interface { return w.client }, DryRunClient: func(evictor.Place) kubernetes.Interface { return w.client }, BeginDryRun: func() {}, Informers: w.factory,
		Events: events.NewFakeRecorder(100), Total: func() uint { return uint(len(w.evicted)) }, Now: time.Now,
	}
}

// Runners of several policies share informers that have already been started, and each follows its
// own policy. This is not obvious, because the framework keeps the first namespace selector that it
// has indexed under a name.
func TestRunnersOnTheSameInformers(t *testing.T) {
	descheduler.SetupPlugins()
	w := newWorld(t)
	find, err := PodsOnNode(w.factory)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		instance, team string
		want           []string
	}{
		{"1", "red", []string{"red"}},
		{"2", "blue", []string{"blue"}},
		{"3", "green", nil},
		{"4", "red", []string{"red"}},
	} {
		config := w.config(step.instance, lifetime(step.team))
		config.PodsOnNode = find
		r, err := New(t.Context(), config)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		w.factory.Start(t.Context().Done())
		w.factory.WaitForCacheSync(t.Context().Done())
		w.evicted = nil
		if err := r.Run(t.Context()); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		slices.Sort(w.evicted)
		if diff := cmp.Diff(step.want, w.evicted); diff != "" {
			t.Errorf("step %d: evicted in namespaces (-want +got):\n%s", i, diff)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	w := newWorld(t)
	if _, err := New(t.Context(), w.config("1", lifetime("red"))); err == nil {
		t.Error("a Runner that finds no pods")
	}
	if _, err := PodsOnNode(w.factory); err != nil {
		t.Error(err)
	}
	if _, err := PodsOnNode(w.factory); err == nil {
		t.Error("the same index twice on the same informers: the framework takes that now, so PodsOnNode need not be kept")
	}
}

// A plugin that panics on its arguments makes its profile fail, but the other profiles run.
func TestAPluginThatPanics(t *testing.T) {
	descheduler.SetupPlugins()
	w := newWorld(t)
	find, err := PodsOnNode(w.factory)
	if err != nil {
		t.Fatal(err)
	}
	registry := maps.Clone(pluginregistry.PluginRegistry)
	broken := registry[podlifetime.PluginName]
	broken.PluginBuilder = func(context.Context, runtime.Object, frameworktypes.Handle) (frameworktypes.Plugin, error) {
		return panics{}, nil
	}
	registry["Panics"] = broken
	p := lifetime("red")
	p.Profiles = append(p.Profiles, api.DeschedulerProfile{
		Name:          "broken",
		PluginConfigs: append([]api.PluginConfig{{Name: "Panics", Args: &podlifetime.PodLifeTimeArgs{}}}, p.Profiles[0].PluginConfigs[:1]...),
		Plugins:       p.Profiles[0].Plugins,
	})
	p.Profiles[1].Plugins.Deschedule = api.PluginSet{Enabled: []string{"Panics"}}
	slices.Reverse(p.Profiles)
	config := w.config("1", p)
	config.PodsOnNode, config.Registry = find, registry
	r, err := New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	w.factory.Start(t.Context().Done())
	w.factory.WaitForCacheSync(t.Context().Done())
	if err := r.Run(t.Context()); err == nil || err.Error() != `running profile "broken": a plugin panicked: no such luck` {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{"red"}, w.evicted); diff != "" {
		t.Errorf("evicted in namespaces (-want +got):\n%s", diff)
	}
}

type panics struct{}

func (panics) Name() string { return "Panics" }

func (panics) Deschedule(context.Context, []*v1.Node) *frameworktypes.Status { panic("no such luck") }

// Plugins take their turns in the order of the policy, including strategies between upstream's
// plugins. A strategy plans for the profile in which it is enabled. Upstream's plugins run as in
// the framework, once in each turn, whether before or after a strategy.
func TestTurnsComeInTheOrderOfThePolicy(t *testing.T) {
	descheduler.SetupPlugins()
	plugin.Register(pluginregistry.PluginRegistry, registry.All)
	const usage, returning = realusage.Name, preferred.Name
	for name, tc := range map[string]struct {
		balance [][]string
		want    []string
	}{
		"a strategy alone":            {[][]string{{usage}}, []string{"p0: " + usage}},
		"upstream plugins alone":      {[][]string{{"A", "B"}}, []string{"A", "B"}},
		"a strategy first":            {[][]string{{usage, "A", "B"}}, []string{"p0: " + usage, "A", "B"}},
		"a strategy last":             {[][]string{{"A", "B", usage}}, []string{"A", "B", "p0: " + usage}},
		"strategies among upstream's": {[][]string{{returning, "A", usage, "B"}}, []string{"p0: " + returning, "A", "p0: " + usage, "B"}},
		"two profiles": {
			[][]string{{"A", usage}, {returning, usage, "B"}},
			[]string{"A", "p0: " + usage, "p1: " + returning, "p1: " + usage, "B"},
		},
		"nothing": {[][]string{nil}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			find, err := PodsOnNode(w.factory)
			if err != nil {
				t.Fatal(err)
			}
			plugins := maps.Clone(pluginregistry.PluginRegistry)
			for _, name := range []string{"A", "B"} {
				plugins[name] = pluginregistry.PluginUtilities{
					PluginType: upstreamPlugin{},
					PluginBuilder: func(context.Context, runtime.Object, frameworktypes.Handle) (frameworktypes.Plugin, error) {
						return upstreamPlugin{w, name}, nil
					},
				}
			}
			p, want := &api.DeschedulerPolicy{}, []string(nil)
			for i, balance := range tc.balance {
				profile := lifetime("red").Profiles[0]
				profile.Name, profile.Plugins.Balance.Enabled = fmt.Sprint("p", i), balance
				for _, name := range balance {
					config := api.PluginConfig{Name: name}
					switch name {
					case usage:
						config.Args = &realusage.Args{}
					case returning:
						config.Args = &preferred.Args{MinWeightGained: 1}
					}
					profile.PluginConfigs = append(profile.PluginConfigs, config)
				}
				p.Profiles = append(p.Profiles, profile)
			}
			for _, turn := range tc.want {
				if len(turn) == 1 {
					want = append(want, turn)
				} else {
					want = append(want, turn+" planned: "+string(reasons.NoUsageData), turn+" moved")
				}
			}
			config := w.config("1", p)
			config.PodsOnNode, config.Registry = find, plugins
			r, err := New(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			w.factory.Start(t.Context().Done())
			w.factory.WaitForCacheSync(t.Context().Done())
			if err := r.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, w.took); diff != "" {
				t.Errorf("turns (-want +got):\n%s", diff)
			}
			if len(w.evicted) != len(tc.balance) {
				t.Errorf("the Deschedule plugins of %d profiles evicted %d pods", len(tc.balance), len(w.evicted))
			}
		})
	}
}

// upstreamPlugin is an upstream plugin that records its turns.
type upstreamPlugin struct {
	world *world
	name  string
}

func (h upstreamPlugin) Name() string { return h.name }

func (h upstreamPlugin) Balance(context.Context, []*v1.Node) *frameworktypes.Status {
	h.world.took = append(h.world.took, h.name)
	return nil
}
