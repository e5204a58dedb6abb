package sources

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/exporters"
)

// Whoever controls a node has the token that Evenkeel sends to its kubelet, so that token must not
// allow evictions. If the token cannot be obtained, Evenkeel sends no other, and the reading fails
// with an error that contains the remedy. That is so if the rights are missing (an overlay without
// the component, or a chart that cannot see the policy), and if the ServiceAccount is missing.
func TestKubeletsGetATokenThatMayNotEvict(t *testing.T) {
	f := stage.New(t)
	f.Component("kubelet-source")
	if _, err := f.AddNodes(t.Context(), 2, cluster.NodeTemplate{CPU: "4", Memory: "8Gi", OwnAddresses: true}); err != nil {
		t.Fatal(err)
	}
	if got := stolen(t, f); !slices.Equal(got, []string{"system:serviceaccount:evenkeel:evenkeel-kubelet-source may not evict"}) {
		t.Errorf("whoever controls a node has: %q", got)
	}

	// The process's own token still allows it to read usage, so only this rule keeps Evenkeel from
	// sending that token.
	bindings := f.Client().RbacV1()
	if err := bindings.RoleBindings(evenkeel.Namespace).Delete(t.Context(), "evenkeel-kubelet-source", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	before := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "kubelet-source-before"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "evenkeel-kubelet-source"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: evenkeel.Namespace, Name: "evenkeel"}},
	}
	if _, err := bindings.ClusterRoleBindings().Create(t.Context(), before, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bindings.ClusterRoleBindings().Delete(context.WithoutCancel(t.Context()), before.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	const remedy = "the remedy, and nothing was sent"
	f.Eventually(20*time.Second, "kubelets to be sent nothing without the rights", func(context.Context) bool { return slices.Equal(stolen(t, f), []string{remedy}) })
	if err := f.Client().CoreV1().ServiceAccounts(evenkeel.Namespace).Delete(t.Context(), "evenkeel-kubelet-source", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := stolen(t, f); !slices.Equal(got, []string{remedy}) {
		t.Errorf("without the ServiceAccount whoever controls a node has: %q", got)
	}
}

// stolen reads usage once from the kubelets, and returns whose tokens they received and what these
// allow.
func stolen(t *testing.T, f *stage.Fixture) []string {
	t.Helper()
	kubelets, err := exporters.StartKubelets(t.Context(), exporters.KubeletsConfig{Cluster: f.Cluster, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := kubelets.Stop(); err != nil {
			t.Error(err)
		}
	}()
	policy := f.Policy(fmt.Sprintf("apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\nusage: {sources: [{type: Kubelet, kubelet: {tls: {caFile: %q}}}]}\n", kubelets.CAFile()))
	top := stage.Run(t.Context(), t, t.TempDir(), "top", "--observe", "0", "--namespace", evenkeel.Namespace, "--kubeconfig", f.Access.Evenkeel, "--policy-config-file", policy)
	var found []string
	for _, token := range kubelets.Tokens() {
		config := rest.AnonymousClientConfig(f.Config())
		config.BearerToken = token
		found = append(found, power(t, config))
	}
	switch {
	case top.Code == 0:
	case len(found) == 0 && strings.Contains(top.Stderr, "kubelet-source to the overlay"):
		found = append(found, "the remedy, and nothing was sent")
	default:
		found = append(found, top.Stderr)
	}
	return found
}

// power returns whose credentials these are, and whether they allow evictions. If they do, the API
// server responds that the pod does not exist.
func power(t *testing.T, config *rest.Config) string {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	err = client.PolicyV1().Evictions("default").Evict(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nobody"}})
	switch {
	case apierrors.IsNotFound(err):
		return evenkeelUser + " may evict"
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "evenkeel-kubelet-source"):
		return "system:serviceaccount:evenkeel:evenkeel-kubelet-source may not evict"
	}
	return fmt.Sprint(err)
}

// nodesync is allowed to write its own label, annotations and taints to nodes. All other uses of a
// stolen token are rejected, even though RBAC allows them.
func TestNodesyncIsFenced(t *testing.T) {
	f := stage.New(t)
	f.Component("nodesync")
	nodes, err := f.AddNodes(t.Context(), 1, cluster.NodeTemplate{CPU: "4", Memory: "8Gi"})
	if err != nil {
		t.Fatal(err)
	}
	setUp := `{"metadata": {"labels": {"disk": "ssd", "status": "presure"}, "annotations": {"note": "x"}},
		"spec": {"taints": [{"key": "disk", "value": "full", "effect": "PreferNoSchedule"}]}}`
	if _, err := f.Client().CoreV1().Nodes().Patch(t.Context(), nodes[0], types.MergePatchType, []byte(setUp), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", f.Access.Evenkeel)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	patch := func(ctx context.Context, text string) error {
		_, err := client.CoreV1().Nodes().Patch(ctx, nodes[0], types.MergePatchType, []byte(text), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	f.Eventually(30*time.Second, "the API server to keep the fence", func(ctx context.Context) bool {
		return apierrors.IsForbidden(patch(ctx, `{"spec": {"unschedulable": true}}`))
	})
	kept := `{"key": "disk", "value": "full", "effect": "PreferNoSchedule"}`
	for what, text := range map[string]string{
		"its label":           `{"metadata": {"labels": {"status": "other"}}}`,
		"no label":            `{"metadata": {"labels": {"status": null}}}`,
		"its annotations":     `{"metadata": {"annotations": {"cpu_usage_avg_5m": "0.1,2026-11-21T14:00:00Z", "mem_usage_max_avg_1h": "x", "evenkeel.io/nodesync": "{}"}}}`,
		"a record apart":      `{"metadata": {"annotations": {"evenkeel.io/nodesync-apart": "{}"}}}`,
		"its taint":           `{"spec": {"taints": [` + kept + `, {"key": "evenkeel.io/hot", "value": "true", "effect": "PreferNoSchedule"}]}}`,
		"both taints":         `{"spec": {"taints": [` + kept + `, {"key": "evenkeel.io/hot", "value": "true", "effect": "PreferNoSchedule"}, {"key": "evenkeel.io/above-reject", "value": "true", "effect": "PreferNoSchedule"}]}}`,
		"nothing but a touch": `{}`,
	} {
		if err := patch(t.Context(), text); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused := map[string]string{
		"cordoning":                  `{"spec": {"unschedulable": true}}`,
		"another label":              `{"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}`,
		"another label's value":      `{"metadata": {"labels": {"disk": "hdd"}}}`,
		"removing another label":     `{"metadata": {"labels": {"disk": null}}}`,
		"another annotation":         `{"metadata": {"annotations": {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}}}`,
		"removing an annotation":     `{"metadata": {"annotations": {"note": null}}}`,
		"another taint":              `{"spec": {"taints": [` + kept + `, {"key": "gone", "effect": "NoExecute"}]}}`,
		"its taint, but a hard one":  `{"spec": {"taints": [` + kept + `, {"key": "evenkeel.io/hot", "value": "true", "effect": "NoExecute"}]}}`,
		"its other, but a hard one":  `{"spec": {"taints": [` + kept + `, {"key": "evenkeel.io/above-reject", "value": "true", "effect": "NoSchedule"}]}}`,
		"a third one of its":         `{"spec": {"taints": [` + kept + `, {"key": "evenkeel.io/full", "effect": "PreferNoSchedule"}]}}`,
		"removing another taint":     `{"spec": {"taints": []}}`,
		"another provider":           `{"spec": {"providerID": "x://y"}}`,
		"a finalizer":                `{"metadata": {"finalizers": ["evenkeel.io/x"]}}`,
		"an owner, to be deleted by": `{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "x"}]}}`,
	}
	for _, what := range slices.Sorted(maps.Keys(refused)) {
		if err := patch(t.Context(), refused[what]); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "Evenkeel may change") {
			t.Errorf("%s: %v, want it refused by the fence", what, err)
		}
	}
	// The fence does not affect anybody else's patches.
	if _, err := f.Client().CoreV1().Nodes().Patch(t.Context(), nodes[0], types.MergePatchType, []byte(refused["cordoning"]), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
	checkNoWarnings(t, f, "evenkeel-nodesync")
	checkDoctor(t, f)
}

// checkNoWarnings checks that the API server's type check finds no fault in the expressions of a
// fence.
func checkNoWarnings(t *testing.T, f *stage.Fixture, fence string) {
	t.Helper()
	f.Eventually(20*time.Second, "the fence's types to be checked, without a warning", func(ctx context.Context) bool {
		policy, err := f.Client().AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(ctx, fence, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		checked := policy.Status.TypeChecking
		if checked != nil && len(checked.ExpressionWarnings) > 0 {
			t.Fatalf("%+v", checked.ExpressionWarnings)
		}
		return policy.Status.ObservedGeneration == policy.Generation
	})
}

// checkDoctor checks that doctor finds the fence, and that it reports a missing one.
func checkDoctor(t *testing.T, f *stage.Fixture) {
	t.Helper()
	policy := f.Policy(stage.RealUsage, unmovable+"nodesync: {label: {enabled: true}, taint: {enabled: true}, rejectTaint: {enabled: true}}\n")
	fenced := func(ctx context.Context) bool {
		got := stage.Run(ctx, t, t.TempDir(), "doctor", "-o", "json", "--namespace", evenkeel.Namespace, "--kubeconfig", f.Access.Evenkeel, "--policy-config-file", policy)
		var report struct {
			Findings []struct{ Check, Level, Subject, Says string }
		}
		if err := json.Unmarshal([]byte(got.Stdout), &report); err != nil {
			t.Fatalf("doctor: %v in\n%s%s", err, got.Stdout, got.Stderr)
		}
		for _, finding := range report.Findings {
			if finding.Check == "nodesync" && finding.Subject == "fence" {
				return finding.Level == "ok"
			}
		}
		t.Fatalf("doctor reports nothing about the fence:\n%s", got.Stdout)
		return false
	}
	if !fenced(t.Context()) {
		t.Error("doctor does not see the fence")
	}
	bindings := f.Client().AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	if err := bindings.Delete(t.Context(), "evenkeel-nodesync", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.Eventually(30*time.Second, "doctor to miss the fence", func(ctx context.Context) bool { return !fenced(ctx) })
}
