package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/pause"
	"github.com/evenkeel/evenkeel/ledger/configmap"
	"github.com/evenkeel/evenkeel/observe/patterns"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
)

// sameAs maps each file of values in ci to the manifests that are equivalent to the chart with
// these values.
var sameAs = map[string][]string{
	"serve-admission": {"overlays/admission"},
	"serve-names": {
		"overlays/serve", "components/admission-steering-names", "components/kubelet-source",
	},
	"serve-webhook":     {"overlays/serve", "components/admission-steering-webhook", "components/cert-manager"},
	"serve-extender":    {"overlays/serve"},
	"cronjob-extender":  {"overlays/cronjob"},
	"cronjob-admission": {"base", "overlays/cronjob/cronjob.yaml", "components/admission-steering-names"},
	"extender":          {"overlays/extender"},
	"nodesync":          {"overlays/nodesync"},
}

// runsAs returns the manifests that run the same processes as the chart. If the API server steers,
// the chart does not answer kube-scheduler, like the overlay admission. No overlay has a webhook in
// addition to that, so the chart's unit tests cover it.
func runsAs() map[string][]string {
	same := maps.Clone(sameAs)
	same["serve-names"] = sameAs["serve-admission"]
	delete(same, "serve-webhook")
	return same
}

// Each file of values in ci is compared with manifests.
func TestEveryModeIsCompared(t *testing.T) {
	files, err := filepath.Glob(chart(root, "ci", "*-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), "-values.yaml"); sameAs[name] == nil {
			t.Errorf("%s: which manifests do the same?", file)
		}
	}
	if len(files) != len(sameAs) {
		t.Errorf("%d files of values in ci, %d compared", len(files), len(sameAs))
	}
}

// The files in the repository are those that are generated from deploy and values.yaml, and their
// folder contains nothing else.
func TestMadeFilesAreUpToDate(t *testing.T) {
	made, err := makeAll(root)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range made {
		got, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := gocmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: run `make update-chart` (-made +file)\n%s", path, diff)
		}
	}
	files, err := filepath.Glob(chart(root, "templates", "generated", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if made[file] == nil {
			t.Errorf("%s: nothing makes it", file)
		}
	}
}

// rights returns what each ServiceAccount among the objects is allowed to do: one verb on one
// resource in one scope per line.
func rights(t *testing.T, all []object) map[string][]string {
	t.Helper()
	found, rules := map[string][]string{}, map[string][]rbacv1.PolicyRule{}
	for _, one := range all {
		switch one.kind() {
		case "ServiceAccount":
			found[one.name()] = nil
		case "ClusterRole", "Role":
			rules[one.kind()+" "+one.name()] = into[rbacv1.ClusterRole](t, one).Rules
		}
	}
	for _, one := range all {
		if !strings.HasSuffix(one.kind(), "RoleBinding") {
			continue
		}
		binding := into[rbacv1.RoleBinding](t, one)
		role := binding.RoleRef.Kind + " " + binding.RoleRef.Name
		scope := cmp.Or(binding.Namespace, "cluster")
		for _, subject := range binding.Subjects {
			if _, ours := found[subject.Name]; !ours {
				continue // there is no ServiceAccount with that name
			}
			if subject.Namespace != "evenkeel" {
				t.Errorf("%s %s: a subject of the namespace %q", one.kind(), one.name(), subject.Namespace)
			}
			if rules[role] == nil {
				found[subject.Name] = append(found[subject.Name], scope+": "+role)
			}
			for _, rule := range rules[role] {
				found[subject.Name] = append(found[subject.Name], spell(scope, rule)...)
			}
		}
	}
	for name := range found {
		slices.Sort(found[name])
		found[name] = slices.Compact(found[name])
	}
	return found
}

// spell expands a rule.
func spell(scope string, rule rbacv1.PolicyRule) (all []string) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{"*"}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					all = append(all, fmt.Sprintf("%s: %s %s/%s %s", scope, verb, group, resource, name))
				}
			}
		}
	}
	return all
}

// In each mode, the chart gives each ServiceAccount exactly the rights that the manifests do.
func TestChartHasTheRightsOfTheManifests(t *testing.T) {
	for name, manifests := range sameAs {
		t.Run(name, func(t *testing.T) {
			want := rights(t, built(t, manifests...))
			if len(want) == 0 {
				t.Fatal("the manifests have no ServiceAccount")
			}
			if diff := gocmp.Diff(want, rights(t, rendered(t, name))); diff != "" {
				t.Errorf("(-manifests +chart)\n%s", diff)
			}
		})
	}
}

// fixed are the kinds whose objects are identical in chart and manifests.
var fixed = []string{
	"CustomResourceDefinition", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "MutatingWebhookConfiguration",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "Issuer", "Certificate", "PodDisruptionBudget",
}

// same returns the objects of these kinds, by kind and name, without metadata.
func same(all []object) map[string]object {
	found := map[string]object{}
	for _, one := range all {
		if !slices.Contains(fixed, one.kind()) && one.name() != "evenkeel-probe" {
			continue
		}
		content := object{}
		for key, of := range one {
			if key != "metadata" {
				content[key] = of
			}
		}
		found[one.kind()+" "+one.name()] = content
	}
	return found
}

// Objects for steering and fencing are identical.
func TestChartSteersAndFencesAsTheManifests(t *testing.T) {
	for name, manifests := range sameAs {
		t.Run(name, func(t *testing.T) {
			if diff := gocmp.Diff(same(built(t, manifests...)), same(rendered(t, name))); diff != "" {
				t.Errorf("(-manifests +chart)\n%s", diff)
			}
		})
	}
}

// In each overlay, a drain evicts one replica of a Deployment at a time, and a Deployment with one
// replica does not block the drain of a node.
func TestReplicasHaveABudget(t *testing.T) {
	overlays, err := filepath.Glob(filepath.Join(root, "deploy", "overlays", "*"))
	if err != nil {
		t.Fatal(err)
	}
	several := 0
	for _, overlay := range overlays {
		name := filepath.Base(overlay)
		budgets := map[string]policyv1.PodDisruptionBudgetSpec{}
		all := built(t, "overlays/"+name)
		for _, one := range all {
			if one.kind() == "PodDisruptionBudget" {
				budgets[one.name()] = into[policyv1.PodDisruptionBudget](t, one).Spec
			}
		}
		for _, one := range all {
			if one.kind() != "Deployment" {
				continue
			}
			spec := into[appsv1.Deployment](t, one).Spec
			budget, found := budgets[one.name()]
			delete(budgets, one.name())
			switch {
			case *spec.Replicas < 2 && found:
				t.Errorf("%s: the budget of %s keeps its only replica's node from being drained", name, one.name())
			case *spec.Replicas < 2:
			case !found || budget.MaxUnavailable.String() != "1" || gocmp.Diff(spec.Selector, budget.Selector) != "":
				t.Errorf("%s: the budget of %s is %+v, want one of its pods at a time", name, one.name(), budget)
			default:
				several++
			}
		}
		for budget := range budgets {
			t.Errorf("%s: the budget %s is for no Deployment", name, budget)
		}
	}
	if several < 5 { // serve, admission, extender, second-scheduler, cronjob
		t.Errorf("%d Deployments with several replicas and a budget were found", several)
	}
}

// workload holds the parts of a process that are compared.
type workload struct {
	Labels   map[string]string
	Pod      v1.PodSpec
	Replicas int32
	Job      batchv1.CronJobSpec
}

// workloads returns the processes, by kind and name, without what only the chart has or sets the
// size of.
func workloads(t *testing.T, all []object) map[string]workload {
	t.Helper()
	found := map[string]workload{}
	for _, one := range all {
		var w workload
		switch one.kind() {
		case "Deployment":
			spec := into[appsv1.Deployment](t, one).Spec
			w = workload{Labels: spec.Selector.MatchLabels, Pod: spec.Template.Spec, Replicas: *spec.Replicas}
			container := &w.Pod.Containers[0]
			if container.Resources.Limits == nil { // GOMEMLIMIT depends on it
				container.Resources.Limits, container.Resources.Requests = nil, nil
			}
			container.Lifecycle = nil
		case "CronJob":
			spec := into[batchv1.CronJob](t, one).Spec
			w = workload{Pod: spec.JobTemplate.Spec.Template.Spec, Job: batchv1.CronJobSpec{ConcurrencyPolicy: spec.ConcurrencyPolicy}}
			w.Job.JobTemplate.Spec.BackoffLimit = spec.JobTemplate.Spec.BackoffLimit
		default:
			continue
		}
		w.Pod.Affinity, w.Pod.TopologySpreadConstraints = nil, nil
		found[one.kind()+" "+one.name()] = w
	}
	return found
}

// unsized removes the resources of processes that have no limit in the manifests, and the values
// that the chart derives from them.
func unsized(chart, manifests map[string]workload) {
	for name, w := range manifests {
		if w.Pod.Containers[0].Resources.Limits != nil {
			continue
		}
		for _, side := range []map[string]workload{chart, manifests} {
			if len(side[name].Pod.Containers) == 0 {
				continue
			}
			container := &side[name].Pod.Containers[0]
			container.Resources = v1.ResourceRequirements{}
			container.Env = slices.DeleteFunc(container.Env, func(e v1.EnvVar) bool { return e.Name == "GOMEMLIMIT" || e.Name == "POD_NAMESPACE" })
			if len(container.Env) == 0 {
				container.Env = nil
			}
		}
	}
}

// The same command runs with the same arguments, probes, ports, volumes, limits and security
// contexts.
func TestChartRunsWhatTheManifestsRun(t *testing.T) {
	for name, manifests := range runsAs() {
		t.Run(name, func(t *testing.T) {
			want, got := workloads(t, built(t, manifests...)), workloads(t, rendered(t, name))
			if len(want) == 0 {
				t.Fatal("the manifests run nothing")
			}
			unsized(got, want)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("(-manifests +chart)\n%s", diff)
			}
		})
	}
}

// network returns who can reach which port, and the ports of Services.
func network(t *testing.T, all []object) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, one := range all {
		switch key := one.kind() + " " + one.name(); one.kind() {
		case "Service":
			service := into[v1.Service](t, one)
			if service.Spec.ClusterIP == v1.ClusterIPNone {
				continue // for the ServiceMonitor
			}
			for _, port := range service.Spec.Ports {
				found[key] = append(found[key], fmt.Sprintf("%s %d to %s of %v", port.Name, port.Port, port.TargetPort.String(), service.Spec.Selector))
			}
		case "NetworkPolicy":
			policy := into[networkingv1.NetworkPolicy](t, one)
			for _, rule := range policy.Spec.Ingress {
				for _, port := range rule.Ports {
					found[key] = append(found[key], fmt.Sprintf("%s of %v from %v", port.Port, policy.Spec.PodSelector.MatchLabels, rule.From))
				}
			}
		}
		slices.Sort(found[one.kind()+" "+one.name()])
	}
	return found
}

// With the chart, exactly the same clients can reach each port as with the manifests.
func TestChartOpensThePortsOfTheManifests(t *testing.T) {
	for name, manifests := range runsAs() {
		t.Run(name, func(t *testing.T) {
			if diff := gocmp.Diff(network(t, built(t, manifests...)), network(t, rendered(t, name))); diff != "" {
				t.Errorf("(-manifests +chart)\n%s", diff)
			}
		})
	}
}

// Evenkeel can load the policies in the rendered chart.
func TestPoliciesOfTheChartAreValid(t *testing.T) {
	for name := range sameAs {
		t.Run(name, func(t *testing.T) {
			for _, one := range rendered(t, name) {
				if one.kind() != "ConfigMap" || one.name() != "evenkeel-policy" {
					continue
				}
				text := into[v1.ConfigMap](t, one).Data["policy.yaml"]
				if _, err := compat.Load("policy.yaml", []byte(text), kinds.All); err != nil {
					t.Errorf("%v\n%s", err, text)
				}
				return
			}
			t.Error("there is no ConfigMap evenkeel-policy")
		})
	}
}

// The cleanup hook has permission to delete what `evenkeel cleanup --ledger` deletes, by name.
func TestCleanupMayDeleteWhatIsStored(t *testing.T) {
	got := map[string][]string{}
	for _, one := range readObjects(t, chart(root, "testdata", "serve-admission.yaml")) {
		if one.kind() != "Role" || one.name() != "evenkeel-cleanup" {
			continue
		}
		for _, rule := range into[rbacv1.Role](t, one).Rules {
			for _, resource := range rule.Resources {
				if slices.Contains(rule.Verbs, "get") && slices.Contains(rule.Verbs, "delete") {
					got[resource] = append(got[resource], rule.ResourceNames...)
				}
			}
		}
	}
	want := map[string][]string{
		"leases":     {"evenkeel", "evenkeel-nodesync"},
		"configmaps": append([]string{evictor.ConfigMapName, pause.Name, patterns.Name}, configmap.SetAside(evictor.ConfigMapName)...),
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-stored +may be deleted)\n%s", diff)
	}
}
