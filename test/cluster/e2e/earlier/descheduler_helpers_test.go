package earlier

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// deschedulerUser is the user of descheduler's Jobs.
const deschedulerUser = "system:serviceaccount:kube-system:descheduler-sa"

// deschedulerRBAC grants only what descheduler's first versions needed.
const deschedulerRBAC = `
kind: ClusterRole
apiVersion: rbac.authorization.k8s.io/v1
metadata:
  name: descheduler-cluster-role
rules:
- {apiGroups: [""], resources: [events], verbs: [create, update]}
- {apiGroups: [""], resources: [nodes], verbs: [get, watch, list]}
- {apiGroups: [""], resources: [pods], verbs: [get, watch, list, delete]}
- {apiGroups: [""], resources: [pods/eviction], verbs: [create]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: descheduler-sa, namespace: kube-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: descheduler-cluster-role-binding}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: descheduler-cluster-role}
subjects: [{name: descheduler-sa, kind: ServiceAccount, namespace: kube-system}]
`

// deschedulerText is the file of the article about descheduler.
const deschedulerText = "descheduler.md"

// deschedulerRights returns a kubeconfig file with the rights that the article's RBAC grants, or
// deschedulerRBAC if the article is missing.
func deschedulerRights(f *stage.Fixture) string {
	f.T.Helper()
	manifest := deschedulerRBAC
	for _, block := range f.EarlierYAML(deschedulerText) {
		if strings.Contains(block, "kind: ClusterRole\n") {
			manifest = block
		}
	}
	path := filepath.Join(f.T.TempDir(), "rbac.yaml")
	if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
		f.T.Fatal(err)
	}
	if err := evenkeel.Apply(f.T.Context(), f.Cluster, path, false); err != nil {
		f.T.Fatal(err)
	}
	kubeconfig, err := f.KubeconfigFor(f.T.Context(), metav1.NamespaceSystem, "descheduler-sa")
	if err != nil {
		f.T.Fatal(err)
	}
	return kubeconfig
}

// jobEvicts runs the Job once and compares the number of evicted pods per workload and node.
func jobEvicts(f *stage.Fixture, args []string, want map[string]int) {
	f.T.Helper()
	kubeconfig, homes, mark := deschedulerRights(f), podHomes(f), f.Mark()
	args = append([]string{"run", "--kubeconfig", kubeconfig, "--metrics-address", "0"}, args...)
	result := stage.Run(f.T.Context(), f.T, f.T.TempDir(), args...)
	defer func() {
		if f.T.Failed() {
			f.T.Logf("log of the run:\n%s", result.Stderr)
		}
	}()
	if result.Code != 0 {
		f.T.Errorf("exit code %d, want 0", result.Code)
	}
	got := map[string]int{}
	for _, eviction := range f.Granted(mark) {
		got[homes[eviction.Namespace+"/"+eviction.Pod]]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.T.Errorf("evicted (-want +got):\n%s", diff)
	}
	for _, line := range []string{"Running without the Lease", "The ledger is kept in this process only", "Converted a setting of a legacy policy"} {
		if !strings.Contains(result.Stderr, line) {
			f.T.Errorf("the log does not say %q", line)
		}
	}
	checkJobRequests(f, mark)
}

// checkJobRequests checks that the run watches only pods and nodes, and that the API server denies
// it only requests that it makes once and can do without.
func checkJobRequests(f *stage.Fixture, since cluster.AuditMark) {
	f.T.Helper()
	requests, err := f.Audit(since)
	if err != nil {
		f.T.Fatal(err)
	}
	var watched []string
	for _, r := range requests.By(deschedulerUser) {
		if r.Verb == "watch" || r.Verb == "list" {
			watched = append(watched, r.Resource+"."+r.Group)
		}
	}
	slices.Sort(watched)
	if diff := cmp.Diff([]string{"nodes.", "pods."}, slices.Compact(watched)); diff != "" {
		f.T.Errorf("listed and watched (-want +got):\n%s", diff)
	}
	for _, r := range requests.By(deschedulerUser).Forbidden() {
		switch r.Resource + "." + r.Group {
		case "leases.coordination.k8s.io", "configmaps.", "events.events.k8s.io":
		default:
			f.T.Errorf("it made a request that was denied: %v", r)
		}
	}
}

// podHomes returns workload@node for every pod.
func podHomes(f *stage.Fixture) map[string]string {
	f.T.Helper()
	list, err := f.Client().CoreV1().Pods(metav1.NamespaceAll).List(f.T.Context(), metav1.ListOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	homes := map[string]string{}
	for i := range list.Items {
		pod := &list.Items[i]
		homes[pod.Namespace+"/"+pod.Name] = fmt.Sprintf("%s@%s", pod.Labels["app"], pod.Spec.NodeName)
	}
	return homes
}

// patchNodeTo applies a strategic merge patch.
func patchNodeTo(t *testing.T, f *stage.Fixture, node, patch string) {
	t.Helper()
	_, err := f.Client().CoreV1().Nodes().Patch(t.Context(), node, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// placeUnmeasured places pods without waiting until their usage is measured, because no case here
// needs it.
func placeUnmeasured(f *stage.Fixture, placements ...cluster.Placement) {
	f.T.Helper()
	if err := f.Cluster.Place(f.T.Context(), placements...); err != nil {
		f.T.Fatal(err)
	}
}

// smallPods is a workload of pods with negligible requests and usage.
func smallPods(name string, pods int, node string, adjust func(*v1.PodTemplateSpec)) cluster.Placement {
	little := cluster.Resources{CPU: "50m", Memory: "64Mi"}
	workload := stage.Workload(name, little, little)
	workload.Adjust = adjust
	return cluster.Placement{Workload: workload, On: stage.On(pods, node)}
}

// apartFrom keeps pods off nodes with pods of another workload.
func apartFrom(workload string) func(*v1.PodTemplateSpec) {
	return func(template *v1.PodTemplateSpec) {
		template.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": workload}},
				TopologyKey:   v1.LabelHostname,
			}},
		}}
	}
}

// onlyWhere binds pods to nodes with a label.
func onlyWhere(key, value string) func(*v1.PodTemplateSpec) {
	return func(template *v1.PodTemplateSpec) {
		template.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}},
			}}},
		}}
	}
}
