package arch

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/admission"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/ledger/configmap"
)

// rbacObject is a role, a binding or a ServiceAccount.
type rbacObject struct {
	rbacv1.ClusterRole
	RoleRef  rbacv1.RoleRef
	Subjects []rbacv1.Subject
}

// rightsIn reads a manifest. It returns the roles by key, and for each ServiceAccount the keys of
// the roles that are bound to it. The key of a cluster-wide role starts with "cluster/".
func rightsIn(t *testing.T, manifest []byte) (roles map[string][]rbacv1.PolicyRule, accounts map[string][]string) {
	t.Helper()
	roles, accounts = map[string][]rbacv1.PolicyRule{}, map[string][]string{}
	for document := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		var object rbacObject
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Fatal(err)
		}
		switch key := object.Name; object.Kind {
		case "ClusterRole":
			roles["cluster/"+key] = object.Rules
		case "Role":
			roles[key] = object.Rules
		case "ServiceAccount":
			accounts[key] = append([]string{}, accounts[key]...)
		case "ClusterRoleBinding", "RoleBinding":
			role := object.RoleRef.Name
			if object.RoleRef.Kind == "ClusterRole" {
				role = "cluster/" + role
			}
			for _, subject := range object.Subjects {
				accounts[subject.Name] = append(accounts[subject.Name], role)
			}
		}
	}
	return roles, accounts
}

// shippedManifests returns the files below deploy, and the chart as rendered with each set of
// values, including its hooks.
func shippedManifests(t *testing.T) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for _, folder := range []string{"deploy", filepath.Join("charts", "evenkeel", "testdata")} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			found[path], err = os.ReadFile(path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// The shipped roles allow exactly these changes. None allows reading Secrets, executing commands in
// pods, or impersonation, which limits the harm that a stolen token can do.
func TestWhatShippedRolesMayChange(t *testing.T) {
	want := map[string][]string{
		"cluster/evenkeel": {"create events.k8s.io/events", "create pods/eviction", "patch events.k8s.io/events"},
		"cluster/evenkeel-cleanup": { // fenced: TestChartFencesWhatItGrants
			"create pods/eviction", "delete evenkeel.io/steerings", "patch nodes", "patch pods",
		},
		"evenkeel-cleanup": {
			"delete configmaps evenkeel-ledger",
			"delete configmaps evenkeel-pause,evenkeel-patterns," + strings.Join(configmap.SetAside(evictor.ConfigMapName), ","),
			"delete coordination.k8s.io/leases evenkeel,evenkeel-nodesync", "update configmaps evenkeel-ledger",
		},
		"cluster/evenkeel-extender":       nil,
		"cluster/evenkeel-kubelet-source": nil,
		"cluster/evenkeel-nodesync":       {"patch nodes"},
		"cluster/evenkeel-nodesync-apart": {"patch nodes"},
		"cluster/evenkeel-scheduler":      nil,
		"cluster/evenkeel-pods":           {"patch pods", "patch pods/status"}, // fenced: TestSteeringFence
		"cluster/evenkeel-steering":       {"create evenkeel.io/steerings", "delete evenkeel.io/steerings", "patch evenkeel.io/steerings"},
		"evenkeel-probe":                  {"create pods"}, // by dry run: TestProbeFence
		"cluster/evenkeel-webhook":        nil,
		"evenkeel": {
			"create configmaps", "create coordination.k8s.io/leases",
			"update configmaps evenkeel-ledger", "update coordination.k8s.io/leases evenkeel",
		},
		"evenkeel-extender":       nil,
		"evenkeel-kubelet-source": {"create serviceaccounts/token evenkeel-kubelet-source"},
		"evenkeel-scheduler":      {"create coordination.k8s.io/leases", "update coordination.k8s.io/leases evenkeel-scheduler"},
		"evenkeel-serve":          {"update configmaps evenkeel-patterns"}, // it also follows the ledger
	}
	got, bound := map[string][]string{}, map[string]bool{}
	for path, manifest := range shippedManifests(t) {
		roles, accounts := rightsIn(t, manifest)
		for _, of := range accounts {
			for _, role := range of {
				bound[role] = true
			}
		}
		for name, rules := range roles {
			for _, rule := range rules {
				changes, odd := changesOf(rule)
				got[name] = append(got[name], changes...)
				for _, one := range odd {
					t.Errorf("%s: %s may %s", path, name, one)
				}
			}
			slices.Sort(got[name])
			got[name] = slices.Compact(got[name])
		}
	}
	maps.DeleteFunc(bound, func(role string, _ bool) bool { _, ours := got[role]; return ours })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// The second scheduler is a kube-scheduler. The API server decides who may read its metrics.
	others := []string{"cluster/system:auth-delegator", "cluster/system:kube-scheduler", "cluster/system:volume-scheduler", "extension-apiserver-authentication-reader"}
	if diff := cmp.Diff(others, slices.Sorted(maps.Keys(bound))); diff != "" {
		t.Errorf("roles of others that are bound (-want +got)\n%s", diff)
	}
}

// SECURITY.md describes for each shipped ServiceAccount what its token allows.
func TestStolenTokensAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	shipped := map[string]bool{}
	for _, manifest := range shippedManifests(t) {
		_, accounts := rightsIn(t, manifest)
		for name := range accounts {
			shipped[name] = true
		}
	}
	for name := range shipped {
		if !bytes.Contains(text, []byte("\n| `"+name+"`")) {
			t.Errorf("SECURITY.md: what may be done with a stolen token of the ServiceAccount %q?", name)
		}
	}
	if len(shipped) < 6 {
		t.Errorf("only %v are shipped: they were not read", slices.Sorted(maps.Keys(shipped)))
	}
}

// For each cluster-wide right to change pods, nodes or Deployments that the chart grants, including
// its hooks, the chart has a fence that restricts the ServiceAccount.
func TestChartFencesWhatItGrants(t *testing.T) {
	grants := 0
	for path, manifest := range shippedManifests(t) {
		if !strings.Contains(path, "charts") {
			continue
		}
		fences := fencesIn(t, manifest)
		roles, accounts := rightsIn(t, manifest)
		for account, of := range accounts {
			for _, role := range of {
				for _, rule := range roles[role] {
					changes, _ := changesOf(rule)
					for _, what := range changes {
						requests := abuses[what]
						if requests == nil {
							continue
						}
						grants++
						for _, r := range requests {
							r.user, r.namespace = "system:serviceaccount:evenkeel:"+account, "kube-system"
							if !slices.ContainsFunc(fences, func(f *fence) bool { return f.refusal(t, &r) != "" }) {
								t.Errorf("%s: %q may %s by %s, and no fence keeps it from %s to\n%s", path, account, what, role, r.resource, r.new)
							}
						}
					}
				}
			}
		}
	}
	if grants < 20 {
		t.Errorf("only %d grants were found", grants)
	}
}

// abuses lists what a thief could do with each permission if nothing restricted it.
var abuses = map[string][]request{
	"patch pods": {{
		operation: admission.Update, resource: "pods", old: somePod, new: strings.Replace(somePod, "image: good", "image: evil", 1),
	}, {
		operation: admission.Update, resource: "pods", old: somePod, new: strings.Replace(somePod, "app: x", "app: y", 1),
	}},
	"patch pods/status": {{
		operation: admission.Update, resource: "pods/status", old: somePod, new: strings.Replace(somePod, "phase: Pending", "phase: Failed", 1),
	}},
	"create pods": {{operation: admission.Create, resource: "pods", new: somePod}},
	"patch nodes": {{
		operation: admission.Update, resource: "nodes", old: someNode, new: strings.Replace(someNode, "podCIDR", "unschedulable: true\n  podCIDR", 1),
	}, {
		operation: admission.Update, resource: "nodes", old: someNode, new: strings.Replace(someNode, "disk: ssd", "disk: hdd", 1),
	}},
}

// changesOf returns the changes that a rule allows, and the parts of the rule that no rule may
// contain.
func changesOf(rule rbacv1.PolicyRule) (changes, odd []string) {
	never := []string{"*", "secrets", "nodes/proxy", "pods/exec", "pods/attach", "pods/portforward", "pods/ephemeralcontainers", "pods/log"}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				what := verb + " " + strings.TrimPrefix(group+"/"+resource, "/")
				if slices.Contains(never, resource) || slices.Contains([]string{"*", "impersonate", "escalate", "bind"}, verb) || group == "*" {
					odd = append(odd, what)
				}
				if !slices.Contains([]string{"get", "list", "watch"}, verb) {
					changes = append(changes, strings.TrimSpace(what+" "+strings.Join(rule.ResourceNames, ",")))
				}
			}
		}
	}
	return changes, odd
}
