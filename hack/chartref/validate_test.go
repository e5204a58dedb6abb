package main

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/kubernetes/pkg/apis/rbac"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	rbacvalidation "k8s.io/kubernetes/pkg/apis/rbac/validation"
)

// refused returns what the API server would reject about an object, and whether its kind is
// checked. Admission kinds are not checked, because they are the same as in the manifests, which
// the end-to-end tests apply.
func refused(t *testing.T, one object) (mistakes field.ErrorList, looked bool) {
	t.Helper()
	text, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := runtime.Decode(legacyscheme.Codecs.UniversalDecoder(), text)
	if runtime.IsNotRegisteredError(err) {
		return nil, false
	}
	if err != nil {
		t.Fatalf("%s %s: %v", one.kind(), one.name(), err)
	}
	switch is := decoded.(type) {
	case *apps.Deployment:
		return appsvalidation.ValidateDeployment(is, pod.GetValidationOptionsFromPodTemplate(&is.Spec.Template, nil)), true
	case *batch.CronJob:
		return batchvalidation.ValidateCronJobCreate(is, pod.GetValidationOptionsFromPodTemplate(&is.Spec.JobTemplate.Spec.Template, nil)), true
	case *batch.Job: // as a CronJob would create it, because it has no generated selector yet
		cron := &batch.CronJob{ObjectMeta: is.ObjectMeta, Spec: batch.CronJobSpec{
			Schedule: "@daily", ConcurrencyPolicy: batch.ForbidConcurrent, JobTemplate: batch.JobTemplateSpec{Spec: is.Spec},
		}}
		return batchvalidation.ValidateCronJobCreate(cron, pod.GetValidationOptionsFromPodTemplate(&is.Spec.Template, nil)), true
	case *networking.NetworkPolicy:
		return networkingvalidation.ValidateNetworkPolicy(is, networkingvalidation.NetworkPolicyValidationOptions{}), true
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(is, policyvalidation.PodDisruptionBudgetValidationOptions{}), true
	case *rbac.ClusterRole:
		return rbacvalidation.ValidateClusterRole(is, rbacvalidation.ClusterRoleValidationOptions{}), true
	case *rbac.Role:
		return rbacvalidation.ValidateRole(is), true
	case *rbac.ClusterRoleBinding:
		return rbacvalidation.ValidateClusterRoleBinding(is), true
	case *rbac.RoleBinding:
		return rbacvalidation.ValidateRoleBinding(is), true
	}
	return refusedCore(t, decoded)
}

// refusedCore is refused for kinds of the core group.
func refusedCore(t *testing.T, decoded runtime.Object) (field.ErrorList, bool) {
	t.Helper()
	switch is := decoded.(type) {
	case *core.ConfigMap:
		return corevalidation.ValidateConfigMap(is), true
	case *core.Namespace:
		return corevalidation.ValidateNamespace(is), true
	case *core.ResourceQuota:
		return corevalidation.ValidateResourceQuota(is), true
	case *core.Service:
		is.Spec.IPFamilies = []core.IPFamily{core.IPv4Protocol} // as allocated by the API server
		if is.Spec.IPFamilyPolicy == nil {
			is.Spec.IPFamilyPolicy = new(core.IPFamilyPolicySingleStack)
		}
		if is.Spec.ClusterIP != "" {
			is.Spec.ClusterIPs = []string{is.Spec.ClusterIP}
		}
		return corevalidation.ValidateServiceCreate(is), true
	case *core.ServiceAccount:
		return corevalidation.ValidateServiceAccount(is), true
	}
	return nil, false
}

// wantAccepted fails the test for each object that the API server would reject,
// and returns the kinds that were checked.
func wantAccepted(t *testing.T, all []object) []string {
	t.Helper()
	asked := map[string]bool{}
	for _, one := range all {
		mistakes, looked := refused(t, one)
		for _, mistake := range mistakes {
			t.Errorf("%s %s: %v", one.kind(), one.name(), mistake)
		}
		if looked {
			asked[one.kind()] = true
		}
	}
	return slices.Sorted(maps.Keys(asked))
}

// Kubernetes' own validation accepts the rendered chart.
func TestRenderedObjectsAreAccepted(t *testing.T) {
	asked := map[string]bool{}
	for name := range sameAs {
		t.Run(name, func(t *testing.T) {
			for _, kind := range wantAccepted(t, readObjects(t, chart(root, "testdata", name+".yaml"))) {
				asked[kind] = true
			}
		})
	}
	for _, kind := range []string{"Deployment", "CronJob", "Job", "NetworkPolicy", "PodDisruptionBudget", "Service", "ClusterRole", "RoleBinding", "ConfigMap"} {
		if !asked[kind] {
			t.Errorf("no %s was looked at", kind)
		}
	}
}

// The validation rejects a Deployment whose selector does not match its pods.
func TestRefusedObjectsAreNoticed(t *testing.T) {
	var mistakes []error
	for _, one := range readObjects(t, chart(root, "testdata", "extender.yaml")) {
		if one.kind() != "Deployment" {
			continue
		}
		if labels, ok := one.at("spec", "selector", "matchLabels").(map[string]any); ok {
			labels["app.kubernetes.io/name"] = "another"
		}
		found, _ := refused(t, one)
		mistakes = append(mistakes, found.ToAggregate())
	}
	if err := errors.Join(mistakes...); err == nil || !strings.Contains(err.Error(), "selector") {
		t.Errorf("accepted: %v", err)
	}
}
