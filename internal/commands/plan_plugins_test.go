package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/output"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/status/text"
)

// everyPlugin is a policy of descheduler with each of its plugins, which are told apart by
// namespaces.
const everyPlugin = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
  - name: default
    pluginConfig:
      - {name: DefaultEvictor}
      - {name: RemoveFailedPods, args: {namespaces: {include: [failed]}}}
      - {name: PodLifeTime, args: {namespaces: {include: [old]}, maxPodLifeTimeSeconds: 3600}}
      - {name: RemovePodsHavingTooManyRestarts, args: {namespaces: {include: [restarts]}, podRestartThreshold: 100}}
      - {name: RemovePodsViolatingNodeTaints}
      - {name: RemovePodsViolatingNodeAffinity, args: {namespaces: {include: [affine]}, nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]}}
      - {name: RemovePodsViolatingInterPodAntiAffinity, args: {namespaces: {include: [apart]}}}
      - {name: RemoveDuplicates, args: {namespaces: {include: [double]}}}
      - {name: RemovePodsViolatingTopologySpreadConstraint, args: {namespaces: {include: [spread]}}}
      - {name: LowNodeUtilization, args: {thresholds: {cpu: 20}, targetThresholds: {cpu: 70}}}
      - {name: HighNodeUtilization, args: {thresholds: {memory: 5}}}
    plugins:
      deschedule:
        enabled:
          - RemoveFailedPods
          - PodLifeTime
          - RemovePodsHavingTooManyRestarts
          - RemovePodsViolatingNodeTaints
          - RemovePodsViolatingNodeAffinity
          - RemovePodsViolatingInterPodAntiAffinity
      balance:
        enabled: [RemoveDuplicates, RemovePodsViolatingTopologySpreadConstraint, LowNodeUtilization, HighNodeUtilization]
`

// fleet is what an API server lists.
type fleet struct{ nodes, pods, sets []string }

func encoded(t *testing.T, object any) string {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var longAgo = metav1.NewTime(time.Now().Add(-2 * time.Hour).Truncate(time.Second))

// node adds a node with ten CPUs and a pod without a controller, which no plugin evicts.
func (f *fleet) node(t *testing.T, name, zone, fillCPU, fillMemory string, change func(*v1.Node)) {
	t.Helper()
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: longAgo, Labels: map[string]string{
			v1.LabelHostname: name, v1.LabelTopologyZone: zone,
		}},
		Status: v1.NodeStatus{
			Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastTransitionTime: longAgo}},
			Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110")},
		},
	}
	node.Status.Capacity = node.Status.Allocatable
	change(node)
	f.nodes = append(f.nodes, encoded(t, node))
	f.pods = append(f.pods, encoded(t, running("fill", "fill-"+name, name, fillCPU, fillMemory)))
}

func running(namespace, name, node, cpu, memory string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name), CreationTimestamp: longAgo, Labels: map[string]string{"app": namespace}},
		Spec: v1.PodSpec{NodeName: node, SchedulerName: v1.DefaultSchedulerName, RestartPolicy: v1.RestartPolicyAlways, Containers: []v1.Container{{
			Name: "a", Image: "a", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory)}},
		}}},
		Status: v1.PodStatus{
			Phase: v1.PodRunning, StartTime: &longAgo, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: longAgo}},
			ContainerStatuses: []v1.ContainerStatus{{Name: "a", Ready: true, State: v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: longAgo}}}},
		},
	}
}

// replicas adds a ReplicaSet, with its own namespace, and its pods on nodes.
func (f *fleet) replicas(t *testing.T, name, cpu string, change func(*v1.Pod), on ...string) {
	t.Helper()
	n := int32(len(on))
	f.sets = append(f.sets, encoded(t, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name, UID: types.UID(name), CreationTimestamp: longAgo},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}},
		Status:     appsv1.ReplicaSetStatus{Replicas: n, ReadyReplicas: n, AvailableReplicas: n},
	}))
	for i, node := range on {
		pod := running(name, fmt.Sprintf("%s-%d", name, i), node, cpu, "32Mi")
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: types.UID(name), Controller: new(true)}}
		change(pod)
		f.pods = append(f.pods, encoded(t, pod))
	}
}

// list lists objects by path.
func (f *fleet) list(path string) []string {
	switch path {
	case "/api/v1/nodes":
		return f.nodes
	case "/api/v1/pods":
		return f.pods
	case "/apis/apps/v1/replicasets":
		return f.sets
	case "/apis/metrics.k8s.io/v1beta1/nodes":
		var all []string
		for i := range f.nodes {
			all = append(all, fmt.Sprintf(`{"metadata":{"name":"n%d"},"timestamp":%q,"window":"15s","usage":{"cpu":"1","memory":"1Gi"}}`, i, time.Now().UTC().Format(time.RFC3339)))
		}
		return all
	}
	return nil
}

// pluginsFleet has something to evict for each plugin.
func pluginsFleet(t *testing.T) *fleet {
	t.Helper()
	f, same, asIs := &fleet{}, func(*v1.Node) {}, func(*v1.Pod) {}
	f.node(t, "n0", "a", "4", "8Gi", func(n *v1.Node) {
		n.Spec.Taints = []v1.Taint{{Key: "closed", Effect: v1.TaintEffectNoSchedule}}
	})
	f.node(t, "n1", "a", "4", "8Gi", same)
	f.node(t, "n2", "a", "4", "8Gi", same)
	f.node(t, "n3", "b", "4", "8Gi", func(n *v1.Node) { n.Labels["disk"] = "ssd" })
	f.node(t, "n4", "b", "7", "8Gi", same)  // above 70% of CPU
	f.node(t, "n5", "b", "1", "8Gi", same)  // below 20% of CPU
	f.node(t, "n6", "a", "4", "32Mi", same) // below 5% of memory
	f.replicas(t, "failed", "10m", func(p *v1.Pod) {
		if p.Name == "failed-0" {
			p.Status.Phase = v1.PodFailed
		}
	}, "n1", "n2")
	f.replicas(t, "old", "10m", asIs, "n1")
	f.replicas(t, "restarts", "10m", func(p *v1.Pod) { p.Status.ContainerStatuses[0].RestartCount = 200 }, "n2")
	f.replicas(t, "tainted", "10m", asIs, "n0")
	f.replicas(t, "pinned", "10m", func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{v1.LabelHostname: "n0"} }, "n0")
	f.replicas(t, "affine", "10m", func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpIn, Values: []string{"ssd"}}},
		}}}}}
	}, "n1", "n3")
	f.replicas(t, "apart", "10m", func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey: v1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "apart"}},
		}}}}
	}, "n2", "n2")
	f.replicas(t, "double", "10m", asIs, "n3", "n3")
	f.replicas(t, "spread", "10m", func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "spread"}},
		}}
	}, "n1", "n2", "n2")
	f.replicas(t, "low", "500m", asIs, "n4", "n3")
	f.replicas(t, "high", "10m", asIs, "n6", "n3")
	return f
}

// A plan shows what each plugin of a policy would evict: with a destination where the plugin's
// evictions become moves, and otherwise with the destination that kube-scheduler would prefer, or with
// the reason why there is none.
func TestPlanShowsEveryPlugin(t *testing.T) {
	t.Parallel()
	plan, names := planOf(t, everyPlugin+quick, pluginsFleet(t))
	moves, want := map[string]string{}, map[string]string{
		"RemovePodsViolatingNodeAffinity":             "affine/affine-0: n1 -> n3",
		"RemovePodsViolatingInterPodAntiAffinity":     "apart/apart-1: n2 -> n5",
		"RemoveDuplicates":                            "double/double-1: n3 -> n5",
		"RemovePodsViolatingTopologySpreadConstraint": "spread/spread-2: n2 -> n5",
		"LowNodeUtilization":                          "low/low-0: n4 -> n5",
		"HighNodeUtilization":                         "high/high-0: n6 -> n4",
	}
	for i := range plan.Moves {
		m := &plan.Moves[i]
		moves[m.Plugin] += fmt.Sprintf("%s/%s: %s -> %s", m.Namespace, m.Pod, m.From, m.To)
	}
	if diff := cmp.Diff(want, moves); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
	slices.SortFunc(plan.Evictions, func(a, b status.PlanEviction) int { return strings.Compare(a.Pod, b.Pod) })
	evictions := []status.PlanEviction{
		{Namespace: "failed", Pod: "failed-0", From: "n1", Plugin: "RemoveFailedPods", Why: "it has failed", NoDestination: "it has ended, so nothing takes its place"},
		{Namespace: "old", Pod: "old-0", From: "n1", Plugin: "PodLifeTime", Why: "it is too old, or in a state in which pods are replaced", To: "n5"},
		{Namespace: "pinned", Pod: "pinned-0", From: "n0", Plugin: "RemovePodsViolatingNodeTaints", Why: "it does not tolerate a taint of its node"},
		{Namespace: "restarts", Pod: "restarts-0", From: "n2", Plugin: "RemovePodsHavingTooManyRestarts", Why: "its containers have restarted too often", To: "n5"},
		{Namespace: "tainted", Pod: "tainted-0", From: "n0", Plugin: "RemovePodsViolatingNodeTaints", Why: "it does not tolerate a taint of its node", To: "n5"},
	}
	for i := range evictions {
		evictions[i].Owner = "ReplicaSet/" + evictions[i].Namespace
	}
	// Any node other than its own may be the first that refuses the pinned pod.
	for i := range plan.Evictions {
		if e := &plan.Evictions[i]; e.Pod == "pinned-0" && strings.Contains(e.NoDestination, "NodeAffinity") {
			e.NoDestination = ""
		}
	}
	if diff := cmp.Diff(evictions, plan.Evictions); diff != "" {
		t.Errorf("evictions (-want +got):\n%s", diff)
	}
	if len(names) != len(want)+len(evictions) {
		t.Errorf("-o name prints %q", names)
	}
	if plan.Closed != "" || plan.Summary.Evictions != len(evictions) {
		t.Errorf("closed: %q, summary: %+v", plan.Closed, plan.Summary)
	}
}

// The limits of a policy apply to a plan's evictions as in a cycle that evicts. The pods that stay are
// shown with the limit.
func TestPlanKeepsTheLimitsOfEvictions(t *testing.T) {
	t.Parallel()
	oneAnHour := strings.Replace(quick, "hot:", "eviction: {maxMovesPerHour: 1}\nhot:", 1)
	plan, _ := planOf(t, everyPlugin+oneAnHour, pluginsFleet(t))
	var evicted, declined []string
	for _, e := range plan.Evictions {
		evicted = append(evicted, e.Pod)
	}
	for _, d := range plan.Declined {
		if strings.Contains(d.Detail, " would evict it") {
			declined = append(declined, d.Pod+": "+d.Reason)
		}
	}
	slices.Sort(declined)
	if diff := cmp.Diff([]string{"failed-0", "old-0"}, evicted); diff != "" { // a pod that has ended does not count
		t.Errorf("evictions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"pinned-0: MovesPerHour", "restarts-0: MovesPerHour", "tainted-0: MovesPerHour"}, declined); diff != "" {
		t.Errorf("declined (-want +got):\n%s", diff)
	}
}

// A plan marks what plugins in dry run would do. It counts for no limit, and -o name leaves it out.
func TestPlanMarksPluginsInDryRun(t *testing.T) {
	t.Parallel()
	limited := strings.Replace(quick, "hot:", "eviction: {dryRunPlugins: [PodLifeTime], maxMovesPerHour: 1}\nhot:", 1)
	plan, _ := planOf(t, everyPlugin+limited, pluginsFleet(t))
	var evicted []string
	for _, e := range plan.Evictions {
		evicted = append(evicted, e.Pod)
	}
	if diff := cmp.Diff([]string{"failed-0", "old-0", "restarts-0"}, evicted); diff != "" {
		t.Errorf("evictions, of which old-0 is in dry run (-want +got):\n%s", diff)
	}
	trying := strings.Replace(quick, "hot:", "eviction: {dryRunPlugins: [PodLifeTime, RemoveDuplicates]}\nhot:", 1)
	plan, names := planOf(t, everyPlugin+trying, pluginsFleet(t))
	got := map[string]bool{}
	for _, e := range plan.Evictions {
		got[e.Pod] = e.DryRun
	}
	if diff := cmp.Diff(map[string]bool{"failed-0": false, "old-0": true, "restarts-0": false, "tainted-0": false, "pinned-0": false}, got); diff != "" {
		t.Errorf("evictions, with those in dry run (-want +got):\n%s", diff)
	}
	for _, m := range plan.Moves {
		if m.DryRun != (m.Plugin == "RemoveDuplicates") {
			t.Errorf("the move of %s by %s in dry run: %t", m.Pod, m.Plugin, m.DryRun)
		}
		got[m.Pod] = m.DryRun
	}
	dry := 0
	for pod, only := range got {
		if only {
			dry++
		}
		if named := slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, "/"+pod) }); named == only {
			t.Errorf("-o name prints %s: %t", pod, named)
		}
	}
	if dry < 2 || plan.Summary.DryRun != dry {
		t.Errorf("%d in dry run, the summary has %d", dry, plan.Summary.DryRun)
	}
}

// planOf returns the plan of a policy on a fleet, and its moves and evictions as -o name prints them.
func planOf(t *testing.T, policy string, f *fleet) (plan status.Plan, names []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	facts, err := planOnce(t.Context(), flags.Options{Kubeconfig: listsServer(t, f.list), PolicyFile: file}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	made := status.NewPlan(facts)
	var asJSON, asNames bytes.Buffer
	if err := output.Show(&asJSON, "json", "never", made, nil); err != nil {
		t.Fatal(err)
	}
	if err := output.Show(&asNames, "name", "never", made, func(p *layout.Page) { text.PlanNames(p, made) }); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(asJSON.Bytes(), &plan); err != nil {
		t.Fatal(err)
	}
	return plan, strings.Fields(asNames.String())
}

// An explanation of a pod says which plugin would evict it even if there is no better place, why, and
// where its replacement would go, or why the pod stays.
func TestExplainShowsEvictionsOfPlugins(t *testing.T) {
	t.Parallel()
	explained := func(policy, namespace string) status.PodExplanation {
		file := filepath.Join(t.TempDir(), "policy.yaml")
		if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
		pod := status.Subject{Kind: status.KindPod, Namespace: namespace, Name: namespace + "-0"}
		facts, err := explainOnce(t.Context(), flags.Options{Kubeconfig: listsServer(t, pluginsFleet(t).list), PolicyFile: file}, io.Discard, pod)
		if err != nil {
			t.Fatal(err)
		}
		p, err := status.OfPod(facts, namespace, pod.Name)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Moves) > 0 {
			t.Errorf("%s has moved: %+v", namespace, p.Moves)
		}
		return p
	}
	for namespace, want := range map[string]status.PlanEviction{
		"old":    {From: "n1", Plugin: "PodLifeTime", Why: "it is too old, or in a state in which pods are replaced", To: "n5"},
		"failed": {From: "n1", Plugin: "RemoveFailedPods", Why: "it has failed", NoDestination: "it has ended, so nothing takes its place"},
	} {
		want.Namespace, want.Pod, want.Owner = namespace, namespace+"-0", "ReplicaSet/"+namespace
		p := explained(everyPlugin+quick, namespace)
		if p.Eviction == nil || *p.Eviction != want || !strings.Contains(p.Summary, want.Plugin) || !strings.Contains(p.Summary, want.To+want.NoDestination) {
			t.Errorf("%s: %+v, %q", namespace, p.Eviction, p.Summary)
		}
	}
	oneAnHour := strings.Replace(quick, "hot:", "eviction: {maxMovesPerHour: 1}\nhot:", 1)
	if p := explained(everyPlugin+oneAnHour, "tainted"); p.Eviction != nil || p.Plugin != "RemovePodsViolatingNodeTaints" || p.Reason != "MovesPerHour" {
		t.Errorf("beyond a limit: %+v", p)
	}
}

// Under a policy of only descheduler's plugins, plan and explain do not watch usage.
func TestPlansOfPluginsDoNotWatchUsage(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // watching takes five
	defer cancel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(everyPlugin), 0o600); err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	options := flags.Options{Kubeconfig: listsServer(t, pluginsFleet(t).list), PolicyFile: file}
	if plan, err := planOnce(ctx, options, &progress); err != nil || len(plan.Evictions) == 0 || len(plan.Plan.Moves) == 0 {
		t.Errorf("plan: %+v, %v", plan, err)
	}
	pod := status.Subject{Kind: status.KindPod, Namespace: "double", Name: "double-1"}
	if facts, err := explainOnce(ctx, options, &progress, pod); err != nil {
		t.Error(err)
	} else if p, err := status.OfPod(facts, pod.Namespace, pod.Name); err != nil || p.Move == nil {
		t.Errorf("explain: %+v, %v", p, err)
	}
	if strings.Contains(progress.String(), "Watching usage") {
		t.Error(progress.String())
	}
}
