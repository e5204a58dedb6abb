package earlier

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// v1alpha1 returns a policy of descheduler's first versions with these strategies.
func v1alpha1(strategies string) string {
	return "apiVersion: \"descheduler/v1alpha1\"\nkind: \"DeschedulerPolicy\"\nstrategies:" + strategies
}

// tenCoreNodes adds identical nodes with ten cores each.
func tenCoreNodes(f *stage.Fixture, n int, labels map[string]string) []string {
	f.T.Helper()
	names, err := f.AddNodes(f.T.Context(), n, cluster.NodeTemplate{CPU: "10", Memory: "100Gi", Pods: 100, Labels: labels})
	if err != nil {
		f.T.Fatal(err)
	}
	return names
}

// The seven pods of one owner must spread over three nodes, with at most three on each, so four of
// them are evicted. Pods of different owners on one node are not duplicates.
func TestV1alpha1RemoveDuplicates(t *testing.T) {
	f := stage.New(t)
	names := tenCoreNodes(f, 3, nil)
	placeUnmeasured(f, smallPods("twin", 7, names[0], nil), smallPods("single", 1, names[0], nil), smallPods("other", 1, names[0], nil))
	policy := f.Policy(v1alpha1(`
  "RemoveDuplicates":
    enabled: true
`))
	jobEvicts(f, []string{"--policy-config-file", policy}, map[string]int{"twin@" + names[0]: 4})
}

// By requests, node-0 is at 80 % (8 of 10 cores), and the other nodes are at 5 %. Evicting three
// pods of one core each brings node-0 to the target of 50 %. The pods' real usage, which is low,
// does not count.
func TestV1alpha1LowNodeUtilization(t *testing.T) {
	f := stage.New(t)
	names := tenCoreNodes(f, 3, nil)
	asks, uses := cluster.Resources{CPU: "1", Memory: "1Gi"}, cluster.Resources{CPU: "10m", Memory: "16Mi"}
	placeUnmeasured(f,
		cluster.Placement{Workload: stage.Workload("asking", asks, uses), On: stage.On(8, names[0])},
		cluster.Placement{Workload: stage.Workload("modest", cluster.Resources{CPU: "500m"}, uses), On: stage.On(1, names[1:]...)})
	policy := f.Policy(v1alpha1(`
  "LowNodeUtilization":
    enabled: true
    params:
      nodeResourceUtilizationThresholds:
        thresholds: {"cpu": 20, "memory": 20, "pods": 20}
        targetThresholds: {"cpu": 50, "memory": 50, "pods": 50}
`))
	jobEvicts(f, []string{"--policy-config-file", policy}, map[string]int{"asking@" + names[0]: 3})
}

// The pod with the anti-affinity is evicted, not the pod that it avoids. Of three pods that avoid
// each other, two are evicted. The other node has no pod that another pod avoids.
func TestV1alpha1RemovePodsViolatingInterPodAntiAffinity(t *testing.T) {
	f := stage.New(t)
	names := tenCoreNodes(f, 4, nil)
	placeUnmeasured(f,
		smallPods("noisy", 1, names[0], nil),
		smallPods("guard", 1, names[0], apartFrom("noisy")),
		smallPods("rivals", 3, names[0], apartFrom("rivals")),
		smallPods("content", 1, names[1], apartFrom("noisy")))
	policy := f.Policy(v1alpha1(`
  "RemovePodsViolatingInterPodAntiAffinity":
    enabled: true
`))
	jobEvicts(f, []string{"--policy-config-file", policy}, map[string]int{"guard@" + names[0]: 1, "rivals@" + names[0]: 2})
}

// All nodes had a fast disk and a GPU when the pods were scheduled. Now node-0 has no fast disk,
// and no node has a GPU. A pod is evicted only if another node satisfies its affinity.
func TestV1alpha1RemovePodsViolatingNodeAffinity(t *testing.T) {
	f := stage.New(t)
	names := tenCoreNodes(f, 3, map[string]string{"disk": "fast", "gpu": "yes"})
	placeUnmeasured(f,
		smallPods("reader", 1, names[0], onlyWhere("disk", "fast")),
		smallPods("painter", 1, names[0], onlyWhere("gpu", "yes")),
		smallPods("anywhere", 1, names[0], nil),
		smallPods("lucky", 1, names[1], onlyWhere("disk", "fast")))
	patchNodeTo(t, f, names[0], `{"metadata":{"labels":{"disk":"slow"}}}`)
	for _, name := range names {
		patchNodeTo(t, f, name, `{"metadata":{"labels":{"gpu":null}}}`)
	}
	policy := f.Policy(v1alpha1(`
  "RemovePodsViolatingNodeAffinity":
    enabled: true
    params:
      nodeAffinityType:
        - "requiredDuringSchedulingIgnoredDuringExecution"
`))
	jobEvicts(f, []string{"--policy-config-file", policy}, map[string]int{"reader@" + names[0]: 1})
}

// Pods that do not tolerate the new taint are evicted, except one that stores files on the node.
func TestV1alpha1RemovePodsViolatingNodeTaints(t *testing.T) {
	f := stage.New(t)
	names := tenCoreNodes(f, 3, nil)
	placeUnmeasured(f,
		smallPods("stray", 2, names[0], nil),
		smallPods("patient", 1, names[0], func(template *v1.PodTemplateSpec) {
			template.Spec.Tolerations = []v1.Toleration{{Key: "key", Operator: v1.TolerationOpEqual, Value: "value", Effect: v1.TaintEffectNoSchedule}}
		}),
		smallPods("scratch", 1, names[0], func(template *v1.PodTemplateSpec) {
			template.Spec.Volumes = []v1.Volume{{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
		}),
		smallPods("elsewhere", 1, names[1], nil))
	patchNodeTo(t, f, names[0], `{"spec":{"taints":[{"key":"key","value":"value","effect":"NoSchedule"}]}}`)
	policy := f.Policy(v1alpha1(`
  "RemovePodsViolatingNodeTaints":
    enabled: true
`))
	jobEvicts(f, []string{"--policy-config-file", policy}, map[string]int{"stray@" + names[0]: 2})
}

// deschedulerPolicy and deschedulerArgs belong to a Job like those of descheduler's users.
var (
	deschedulerPolicy = v1alpha1(`
  "RemoveDuplicates":
     enabled: true
  "RemovePodsViolatingInterPodAntiAffinity":
     enabled: true
  "LowNodeUtilization":
     enabled: true
     params:
       nodeResourceUtilizationThresholds:
         thresholds: {"cpu" : 20, "memory": 20, "pods": 20}
         targetThresholds: {"cpu" : 50, "memory": 50, "pods": 50}
`)
	deschedulerArgs = []string{"--policy-config-file", "/policy-dir/policy.yaml", "--v", "3"}
)

// The article's Job works unchanged, except for the program: with its ServiceAccount and rights,
// its ConfigMap and its arguments. Three strategies are enabled at the same time:
//
//   - four identical pods on three nodes allow at most two on each, so two
//     are evicted;
//   - the guard is evicted, because it must avoid the noisy pod;
//   - no node is over 50 % by requests, so LowNodeUtilization does nothing.
//
// Events explain why pods were evicted. This ServiceAccount may write Events only through the core
// API group.
func TestV1alpha1Job(t *testing.T) {
	f := stage.New(t)
	policy, args := deschedulerJob(f)
	names := tenCoreNodes(f, 3, nil)
	placeUnmeasured(f, smallPods("twin", 4, names[0], nil), smallPods("noisy", 1, names[1], nil), smallPods("guard", 1, names[1], apartFrom("noisy")))
	path := f.Policy(policy)
	for i := range args {
		if strings.HasSuffix(args[i], ".yaml") {
			args[i] = path
		}
	}
	jobEvicts(f, args, map[string]int{"twin@" + names[0]: 2, "guard@" + names[1]: 1})
	list, err := f.Client().CoreV1().Events("shop").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for i := range list.Items {
		if e := &list.Items[i]; e.ReportingController == "evenkeel" {
			told[e.InvolvedObject.Name] = true
		}
	}
	if len(told) != 3 {
		t.Errorf("Events about %v, want them about all three pods that were evicted", told)
	}
}

// On a calm cluster, all ten strategies together do nothing, and none of them needs more than the
// article's rights. A policy without strategies does nothing either.
func TestV1alpha1EveryStrategyAndNone(t *testing.T) {
	f := stage.New(t)
	names := tenCoreNodes(f, 3, nil)
	for _, name := range names {
		placeUnmeasured(f, smallPods("calm-"+name, 1, name, nil))
	}
	every := `
  RemoveDuplicates: {enabled: true, params: {nodeFit: true}}
  LowNodeUtilization:
    enabled: true
    params: {nodeResourceUtilizationThresholds: {thresholds: {cpu: 20}, targetThresholds: {cpu: 50}}}
  HighNodeUtilization: {enabled: true, params: {namespaces: {exclude: [shop]}, nodeResourceUtilizationThresholds: {thresholds: {cpu: 20}}}}
  RemovePodsViolatingInterPodAntiAffinity: {enabled: true, params: {namespaces: {include: [shop]}}}
  RemovePodsViolatingNodeAffinity: {enabled: true, params: {nodeAffinityType: [requiredDuringSchedulingIgnoredDuringExecution]}}
  RemovePodsViolatingNodeTaints: {enabled: true, params: {includedTaints: [key=value]}}
  RemovePodsViolatingTopologySpreadConstraint: {enabled: true, params: {includeSoftConstraints: true}}
  RemovePodsHavingTooManyRestarts: {enabled: true, params: {podsHavingTooManyRestarts: {podRestartThreshold: 9}}}
  PodLifeTime: {enabled: true, params: {podLifeTime: {maxPodLifeTimeSeconds: 86400, podStatusPhases: [Pending]}}}
  RemoveFailedPods: {enabled: true, params: {failedPods: {minPodLifetimeSeconds: 0}}}
ignorePvcPods: true
evictLocalStoragePods: true
nodeSelector: kubernetes.io/os=linux
`
	for _, strategies := range []string{every, " {RemoveDuplicates: {enabled: false}}"} {
		jobEvicts(f, []string{"--policy-config-file", f.Policy(v1alpha1(strategies))}, map[string]int{})
	}
}

// deschedulerJob returns the policy in the article's ConfigMap and the
// arguments of its Job.
func deschedulerJob(f *stage.Fixture) (policy string, args []string) {
	f.T.Helper()
	blocks := f.EarlierYAML(deschedulerText)
	if len(blocks) == 0 {
		return deschedulerPolicy, slices.Clone(deschedulerArgs)
	}
	for _, block := range blocks {
		var config v1.ConfigMap
		var job batchv1.Job
		switch {
		case strings.Contains(block, "kind: ConfigMap\n"):
			decodeStrictly(f, block, &config)
			policy = config.Data["policy.yaml"]
		case strings.Contains(block, "kind: Job\n"):
			decodeStrictly(f, block, &job)
			args = job.Spec.Template.Spec.Containers[0].Args
		}
	}
	if policy == "" || len(args) == 0 {
		f.T.Fatalf("the article has no ConfigMap with a policy or no Job with arguments: %q, %q", policy, args)
	}
	return policy, args
}

func decodeStrictly(f *stage.Fixture, text string, object any) {
	f.T.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
		f.T.Fatal(err)
	}
}
