package realusage

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/features"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	"sigs.k8s.io/descheduler/pkg/framework/profile"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// movable is the pod on the yard's hot node that is moved only if the others must not be. It has
// the highest usage, and moving any of the pods would suffice.
const movable = biggest

// ruled is a yard with a policy file, which upstream's loader and framework apply, including the
// real DefaultEvictor.
type ruled struct {
	*yard
	client      *fake.Clientset
	shared      informers.SharedInformerFactory
	evictorArgs runtime.Object
	made        strategies.Made
	by          *plugin.Plugin
}

// newRuled returns a yard in which all pods on the hot node except movable are marked. All pods
// have one owner and one template.
func newRuled(t *testing.T, evictor, ours string, mark func(*v1.Pod)) *ruled {
	t.Helper()
	r := &ruled{yard: newYard(t, func(pod *v1.Pod) {
		pod.Labels = map[string]string{"tier": "batch", "pod-template-hash": "1"}
		pod.OwnerReferences[0].UID = "one"
		if pod.Spec.NodeName == "node-00000" && pod.Name != movable {
			mark(pod)
		}
	})}
	objects := []runtime.Object{
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Labels: map[string]string{"team": "web"}}},
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bank", Labels: map[string]string{"team": "bank"}}},
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}, Value: 1000},
	}
	for _, node := range r.nodes {
		objects = append(objects, node)
	}
	r.client = fake.NewClientset(objects...)
	r.client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil }) // evictions
	r.shared = informers.NewSharedInformerFactory(r.client, 0)
	r.run(t, fmt.Sprintf(`
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: p
  pluginConfig:
  - {name: DefaultEvictor, args: {%s}}
  - {name: RealUsageLowNodeUtilization, args: {%s}}
  plugins: {balance: {enabled: [RealUsageLowNodeUtilization]}}
`, evictor, ours))
	return r
}

// run runs one cycle of a policy.
func (r *ruled) run(t *testing.T, content string) {
	t.Helper()
	descheduler.SetupPlugins()
	plugin.Register(pluginregistry.PluginRegistry, []plugin.Strategy{new(Args)})
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := descheduler.LoadPolicyConfig(path, r.client, pluginregistry.PluginRegistry)
	if err != nil {
		t.Fatal(err)
	}
	r.evictorArgs, _ = policy.ArgsOf(&loaded.Profiles[0], defaultevictor.PluginName)
	r.profile(t, &loaded.Profiles[0])
	r.shared.Start(t.Context().Done())
	r.shared.WaitForCacheSync(t.Context().Done())
	made, err := r.by.Plan(t.Context(), &r.observed, r.nodes)
	if err != nil {
		t.Fatal(err)
	}
	r.made = *made
}

// profile makes the framework build the strategy, with its profile's filters.
func (r *ruled) profile(t *testing.T, of *api.DeschedulerProfile) {
	t.Helper()
	evictor, err := evictions.NewPodEvictor(t.Context(), r.client, events.NewFakeRecorder(10), r.shared.Core().V1().Pods().Informer(),
		features.DefaultMutableFeatureGate, evictions.NewOptions().WithPolicyGroupVersion("policy/v1"))
	if err != nil {
		t.Fatal(err)
	}
	registry := maps.Clone(pluginregistry.PluginRegistry)
	strategy := registry[Name]
	strategy.PluginBuilder = func(_ context.Context, args runtime.Object, handle frameworktypes.Handle) (_ frameworktypes.Plugin, err error) {
		r.by, err = plugin.New(args, handle, r.deps)
		return r.by, err
	}
	registry[Name] = strategy
	_, err = profile.NewProfile(t.Context(), *of, registry,
		profile.WithClientSet(r.client), profile.WithSharedInformerFactory(r.shared), profile.WithPodEvictor(evictor), profile.WithProfileInstanceID("1"),
		profile.WithGetPodsAssignedToNodeFnc(func(node string, _ podutil.FilterFunc) ([]*v1.Pod, error) { return r.pods[node], nil }))
	if err != nil {
		t.Fatal(err)
	}
}

// marked returns the marked pods on the hot node.
func (r *ruled) marked() (pods []*v1.Pod) {
	for _, pod := range r.pods["node-00000"] {
		if pod.Name != movable {
			pods = append(pods, pod)
		}
	}
	return pods
}

// explained returns why a pod on the hot node stays, and the rule that causes it.
func (r *ruled) explained(t *testing.T, pod *v1.Pod) (reasons.Reason, string) {
	t.Helper()
	asked := strategies.Asked{Protection: r.evictorArgs}
	for _, record := range r.observed.View.Snapshot.Nodes[0].Pods {
		if record.UID == string(pod.UID) {
			asked.Pod = record
		}
	}
	study, err := plugin.Study(t.Context(), []*plugin.Plugin{r.by}, r.nodes, asked)
	if err != nil || study.Pod == nil {
		t.Fatalf("pod %s: %+v, %v", pod.Name, study, err)
	}
	return study.Pod.Refused, study.Protection
}

func (r *ruled) planned() (names []string) {
	for i := range r.made.Plan.Moves {
		names = append(names, r.made.Plan.Moves[i].Name)
	}
	return names
}

// Users can select pods by labels, labels of namespaces, priority and names of namespaces. Such a
// selection applies to the plan and again before the call, and the explanation uses the words of
// the check. The pod that is not marked is moved, although the marked ones would be the better
// choice.
func TestSelections(t *testing.T) {
	labelled := func(pod *v1.Pod) { pod.Labels["tier"] = "web" }
	banked := func(pod *v1.Pod) { pod.Namespace = "bank" }
	important := func(pod *v1.Pod) { pod.Spec.Priority = new(int32(1000)) } // a pod at the threshold itself is spared
	elsewhere := func(pod *v1.Pod) {
		delete(pod.Labels, "pod-template-hash") // without this label, the pods of one owner are not alike
		pod.Spec.NodeSelector = map[string]string{v1.LabelTopologyZone: "zone-2"}
	}
	const (
		byLabels     = "pod labels do not match the labelSelector filter in the policy parameter"
		byPriority   = "pod has higher priority than specified priority class threshold"
		byOtherNodes = "pod does not fit on any other node"
	)
	cases := map[string]struct {
		evictor, ours string
		mark          func(*v1.Pod)
		reason        reasons.Reason
		words         string
	}{
		"labels":                       {"labelSelector: {matchLabels: {tier: batch}}", "", labelled, reasons.ProtectedByDefaultEvictor, byLabels},
		"labels that pods must lack":   {"labelSelector: {matchExpressions: [{key: tier, operator: NotIn, values: [web]}]}", "", labelled, reasons.ProtectedByDefaultEvictor, byLabels},
		"labels of namespaces":         {"namespaceLabelSelector: {matchLabels: {team: web}}", "", banked, reasons.PreEvictionFilter, "pod namespace do not match the namespaceLabelSelector filter in the policy parameter"},
		"labels namespaces must lack":  {"namespaceLabelSelector: {matchExpressions: [{key: team, operator: NotIn, values: [bank]}]}", "", banked, reasons.PreEvictionFilter, "pod namespace do not match the namespaceLabelSelector filter in the policy parameter"},
		"a namespace that is not read": {"namespaceLabelSelector: {matchLabels: {team: web}}", "", func(pod *v1.Pod) { pod.Namespace = "late" }, reasons.PreEvictionFilter, "pod namespace do not match the namespaceLabelSelector filter in the policy parameter"},
		"a priority":                   {"priorityThreshold: {value: 1000}", "", important, reasons.ProtectedByDefaultEvictor, byPriority},
		"a priority class":             {"priorityThreshold: {name: gold}", "", important, reasons.ProtectedByDefaultEvictor, byPriority},
		"another node of some":         {"nodeFit: true, nodeSelector: topology.kubernetes.io/zone=zone-1", "", elsewhere, reasons.PreEvictionFilter, byOtherNodes},
		"namespaces included":          {"", "evictableNamespaces: {include: [ns, other]}", banked, reasons.NamespaceExcluded, ""},
		"namespaces excluded":          {"", "evictableNamespaces: {exclude: [bank]}", banked, reasons.NamespaceExcluded, ""},
		"both, by names and by labels": {
			"labelSelector: {matchLabels: {tier: batch}}, namespaceLabelSelector: {matchLabels: {team: web}}", "evictableNamespaces: {include: [ns, bank]}",
			banked, reasons.PreEvictionFilter, "pod namespace do not match the namespaceLabelSelector filter in the policy parameter",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRuled(t, tc.evictor, tc.ours, tc.mark)
			if diff := cmp.Diff([]string{movable}, r.planned()); diff != "" {
				t.Errorf("planned (-want +got):\n%s", diff)
			}
			if why := refusedBy(r.by.Profile(), r.pods["node-00000"][2]); why != "" {
				t.Errorf("%s is refused for %q before the call", movable, why)
			}
			for _, pod := range r.marked() {
				if reason, words := r.explained(t, pod); reason != tc.reason || !strings.Contains(words, tc.words) {
					t.Errorf("%s stays for %q: %q; want %q: %q", pod.Name, reason, words, tc.reason, tc.words)
				}
				if tc.ours != "" {
					continue // a pod does not change its namespace
				}
				if got := refusedBy(r.by.Profile(), pod); got != tc.reason {
					t.Errorf("%s is refused for %q before the call, want %q", pod.Name, got, tc.reason)
				}
			}
		})
	}
}

// Selections that select everything restrict nothing.
func TestSelectionsOfEverything(t *testing.T) {
	for name, args := range map[string][2]string{
		"none":                {"", ""},
		"empty selectors":     {"labelSelector: {}, namespaceLabelSelector: {}", ""},
		"empty lists":         {"", "evictableNamespaces: {include: [], exclude: []}"},
		"a higher threshold":  {"priorityThreshold: {value: 1001}", ""},
		"their own":           {"labelSelector: {matchLabels: {tier: web}}, namespaceLabelSelector: {matchLabels: {team: bank}}", "evictableNamespaces: {include: [bank]}"},
		"another's exclusion": {"", "evictableNamespaces: {exclude: [ns]}"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRuled(t, args[0], args[1], func(pod *v1.Pod) {
				pod.Labels["tier"], pod.Namespace, pod.Spec.Priority = "web", "bank", new(int32(1000))
			})
			for _, pod := range r.marked() {
				if reason, words := r.explained(t, pod); reason != "" || words != "" {
					t.Errorf("%s stays for %q: %q", pod.Name, reason, words)
				}
			}
		})
	}
}

// Upstream's annotation that requests eviction overrides the DefaultEvictor's requirements for a
// pod, but not those for its namespace.
func TestSelectionsAndTheEvictAnnotation(t *testing.T) {
	for name, tc := range map[string]struct {
		evictor, ours string
		want          reasons.Reason
	}{
		"labels":               {"labelSelector: {matchLabels: {tier: batch}}", "", ""},
		"a priority":           {"priorityThreshold: {value: 1000}", "", ""},
		"labels of namespaces": {"namespaceLabelSelector: {matchLabels: {team: web}}", "", reasons.PreEvictionFilter},
		"namespaces included":  {"", "evictableNamespaces: {include: [ns]}", reasons.NamespaceExcluded},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRuled(t, tc.evictor, tc.ours, func(pod *v1.Pod) {
				pod.Labels["tier"], pod.Namespace, pod.Spec.Priority = "web", "bank", new(int32(1000))
				pod.Annotations = map[string]string{"descheduler.alpha.kubernetes.io/evict": "true"}
			})
			for _, pod := range r.marked() {
				if reason, _ := r.explained(t, pod); reason != tc.want {
					t.Errorf("%s stays for %q, want %q", pod.Name, reason, tc.want)
				}
			}
		})
	}
}

// Labels of namespaces are read for each plan. The value of a priority class is read only when the
// policy is.
func TestWhenSelectionsAreRead(t *testing.T) {
	r := newRuled(t, "namespaceLabelSelector: {matchLabels: {team: web}}, priorityThreshold: {name: gold}", "", func(pod *v1.Pod) { pod.Namespace = "bank" })
	namespaces := r.shared.Core().V1().Namespaces().Informer().GetIndexer()
	if err := namespaces.Update(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bank", Labels: map[string]string{"team": "web"}}}); err != nil {
		t.Fatal(err)
	}
	if reason, words := r.explained(t, r.marked()[0]); reason != "" {
		t.Errorf("after the namespace was labelled it stays for %q: %q", reason, words)
	}
	asked := 0
	for _, action := range r.client.Actions() {
		if action.GetResource().Resource == "priorityclasses" {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("asked for the priority class %d times, want once", asked)
	}
}

// Only the nodes that the policy's nodeSelector selects are relieved, and only they accept pods.
func TestNodesThatAreLeftOut(t *testing.T) {
	y := newYard(t)
	for name, tc := range map[string]struct {
		nodes []*v1.Node
		to    []string
	}{
		"none":            {y.nodes, []string{"node-00001"}},
		"the hot node":    {y.nodes[1:], nil},
		"a landing":       {[]*v1.Node{y.nodes[0], y.nodes[2]}, []string{"node-00002"}},
		"every landing":   {y.nodes[:1], nil},
		"another landing": {y.nodes[:2], []string{"node-00001"}},
	} {
		study, err := plugin.Study(t.Context(), []*plugin.Plugin{y.plugin(t)}, tc.nodes, strategies.Asked{})
		if err != nil {
			t.Fatal(err)
		}
		var to []string
		for i := range study.Made.Plan.Moves {
			to = append(to, study.Made.Plan.Moves[i].To)
		}
		if diff := cmp.Diff(tc.to, to); diff != "" {
			t.Errorf("without %s moves go to (-want +got):\n%s", name, diff)
		}
	}
}
