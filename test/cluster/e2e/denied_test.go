package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// An admission policy denies evictions in one namespace. Evenkeel requests an eviction there only
// once, and meanwhile relieves the node of the other namespace.
//
//	node-0: 5 × 3 of namespace vault, node-1: 5 × 2.8 of shop, of 20 cores each = 75 and 70 %; under 65 % takes one of each
//
//e2e:tier all
func TestDeniedEvictionsHoldNobodyElseUp(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 4, cluster.NodeTemplate{CPU: "20", Memory: "64Gi"})
	if err != nil {
		t.Fatal(err)
	}
	vault := stage.Workload("vault", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "3", Memory: "64Mi"})
	vault.Namespace = "vault"
	hog := stage.Workload("hog", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "2800m", Memory: "64Mi"})
	err = f.Place(t.Context(), agents(nodes...),
		cluster.Placement{Workload: vault, On: stage.On(5, nodes[0])}, cluster.Placement{Workload: hog, On: stage.On(5, nodes[1])})
	if err != nil {
		t.Fatal(err)
	}
	f.denyEvictionsIn("vault")
	mark, metrics := f.Mark(), f.FreeAddress()
	f.Serve(f.Policy(stage.RealUsage, stage.Fast), "--metrics-address", metrics)
	f.Eventually(2*time.Minute, "the node of shop below 65 % of CPU", func(ctx context.Context) bool {
		hot := f.Hot(ctx, 65)
		return len(hot) == 1 && strings.HasPrefix(hot[0], nodes[0])
	})
	f.waitCycles(metrics, 4)
	requests, err := f.Audit(mark)
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]int{}
	for _, r := range requests.To("create", "pods/eviction") {
		tried[r.Namespace]++
	}
	if tried["vault"] != 1 || tried["shop"] != 1 {
		t.Errorf("evictions tried: %v, want one of each namespace", tried)
	}
	for key := range f.podHomes() {
		if !strings.HasPrefix(key, "vault/") {
			continue
		}
		if explained := f.explained(key); explained.Reason != "EvictionDenied" {
			t.Errorf("pod %s stays for %q (%s), want EvictionDenied", key, explained.Reason, explained.Detail)
		}
	}
}

// denyEvictionsIn denies the evictions of a namespace's pods, and waits until the denial takes
// effect.
func (f *fixture) denyEvictionsIn(namespace string) {
	f.T.Helper()
	ctx, admission := f.T.Context(), f.Client().AdmissionregistrationV1()
	f.T.Cleanup(func() { // the next case on this control plane uses the same namespace
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err := errors.Join(
			admission.ValidatingAdmissionPolicyBindings().Delete(ctx, "no-evictions", metav1.DeleteOptions{}),
			admission.ValidatingAdmissionPolicies().Delete(ctx, "no-evictions", metav1.DeleteOptions{}))
		if err != nil {
			f.T.Error(err)
		}
	})
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "no-evictions"},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/eviction"}},
				},
			}}},
			Validations: []admissionv1.Validation{{Expression: "false", Message: "nothing leaves the vault"}},
		},
	}
	if _, err := admission.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{}); err != nil {
		f.T.Fatal(err)
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "no-evictions"},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "no-evictions", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{v1.LabelMetadataName: namespace},
			}},
		},
	}
	if _, err := admission.ValidatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		f.T.Fatal(err)
	}
	pod := ""
	for key := range f.podHomes() {
		if name, ok := strings.CutPrefix(key, namespace+"/"); ok {
			pod = name
		}
	}
	f.Eventually(30*time.Second, "evictions in "+namespace+" are denied", func(ctx context.Context) bool {
		return f.evictDry(ctx, namespace, pod) != nil
	})
}

// evictDry requests an eviction in a dry run.
func (f *fixture) evictDry(ctx context.Context, namespace, pod string) error {
	return f.Client().PolicyV1().Evictions(namespace).Evict(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: namespace, Name: pod},
		DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
	})
}
