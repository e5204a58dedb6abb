package e2e

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/manifests"
)

// prometheusRule is a manifest whose kind belongs to the Prometheus Operator.
var prometheusRule = filepath.Join("components", "alerts", "prometheusrule.yaml")

// The real API server accepts every shipped manifest unchanged.
func TestManifestsAreAccepted(t *testing.T) {
	f := newFixture(t)
	files, err := evenkeel.Manifests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	components, err := evenkeel.Components(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := manifests.Dir(t)
	patch := filepath.Join(dir, "components", "admission-steering-base", "policy-configmap.yaml") // it is a whole ConfigMap
	files = append(append(files, components...), patch)
	for _, file := range files {
		if strings.HasSuffix(file, manifests.CertManager) || strings.HasSuffix(file, prometheusRule) {
			continue // its kinds belong to operators that are not installed
		}
		dryRun := filepath.Base(file) != "namespace.yaml" // the other objects need the namespace to exist
		if err := evenkeel.Apply(t.Context(), f.Cluster, file, dryRun); err != nil {
			t.Error(err)
		}
	}
	// Only manifests are applied. The other files configure kustomize or kube-scheduler.
	for _, file := range manifests.Files(t, dir) {
		path := filepath.Join(dir, file)
		other := filepath.Base(file) == "kustomization.yaml" || file == "kube-scheduler.yaml" || file == manifests.CertManager // TestCertManagerMakesTheSame
		if !other && !slices.Contains(files, path) {
			t.Errorf("%s is not among the manifests that were checked", file)
		}
	}
}

// The namespace enforces the restricted Pod Security Standard, and the pods of every workload
// comply with it.
func TestPodsPassTheNamespacesPodSecurity(t *testing.T) {
	f := newFixture(t)
	pods := f.Client().CoreV1().Pods(evenkeel.Namespace)
	create := func(template v1.PodTemplateSpec) error {
		pod := &v1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		pod.GenerateName = "checked-"
		_, err := pods.Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	shipped := manifests.Templates(t)
	if want := []string{"CronJob/evenkeel", "Deployment/evenkeel", "Deployment/evenkeel-extender", "Deployment/evenkeel-nodesync", "Deployment/evenkeel-scheduler", "Job/evenkeel"}; !slices.Equal(slices.Sorted(maps.Keys(shipped)), want) {
		t.Errorf("workloads %v, want %v", slices.Sorted(maps.Keys(shipped)), want)
	}
	rendered := manifests.ChartTemplates(t)
	if len(rendered) < 15 {
		t.Errorf("the chart has the workloads %v only", slices.Sorted(maps.Keys(rendered)))
	}
	maps.Copy(shipped, rendered)
	for name, template := range shipped {
		t.Run(name, func(t *testing.T) {
			template.Spec.ServiceAccountName = "" // some ServiceAccounts of the chart do not exist
			if err := create(template); err != nil {
				t.Error(err)
			}
			template.Spec.SecurityContext = nil
			if err := create(template); !apierrors.IsForbidden(err) {
				t.Errorf("without its security context: %v, want it forbidden, or the namespace enforces nothing", err)
			}
		})
	}
}

// grantedRights returns the permissions that the shipped roles grant, by user. A role has the name
// of its ServiceAccount, except the one with what only serve needs.
func grantedRights(t *testing.T) map[string][]stage.Right {
	t.Helper()
	users := map[string]string{"evenkeel": evenkeelUser, "evenkeel-serve": evenkeelUser, "evenkeel-extender": extenderUser}
	rules := map[string][]rbacv1.PolicyRule{}
	for _, objects := range manifests.Objects(t) {
		for _, object := range objects {
			switch o := object.(type) {
			case *rbacv1.ClusterRole:
				rules[users[o.Name]] = append(rules[users[o.Name]], o.Rules...)
			case *rbacv1.Role:
				rules[users[o.Name]] = append(rules[users[o.Name]], o.Rules...)
			}
		}
	}
	delete(rules, "") // other cases cover the overlays that run other programs
	granted := map[string][]stage.Right{}
	for user, all := range rules {
		granted[user] = stage.Rights(all)
	}
	return granted
}

// checkRights checks that neither ServiceAccount has been denied a request for lack of permission
// since the mark.
func (f *fixture) checkRights(since cluster.AuditMark) {
	f.T.Helper()
	requests, err := f.Audit(since)
	if err != nil {
		f.T.Fatal(err)
	}
	for _, user := range []string{evenkeelUser, extenderUser} {
		if forbidden := requests.By(user).Forbidden(); len(forbidden) > 0 {
			f.T.Errorf("forbidden to %s:\n%v", user, forbidden)
		}
	}
}

// checkRightsAreUsed checks that the roles grant nothing unnecessary. It requires that both
// ServiceAccounts have done all of their work: leading, evicting and reporting.
func (f *fixture) checkRightsAreUsed(since cluster.AuditMark) {
	f.T.Helper()
	requests, err := f.Audit(since)
	if err != nil {
		f.T.Fatal(err)
	}
	for user, granted := range grantedRights(f.T) {
		for _, right := range stage.Unused(granted, requests.By(user)) {
			f.T.Errorf("%s may %s and never did", user, right)
		}
	}
}
