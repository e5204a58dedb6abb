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
	"sigs.k8s.io/yaml"
)

// shippedRoles returns the rules of each role below deploy, by its name; those
// that are cluster-wide under "cluster/". bound are the roles that bindings
// name.
func shippedRoles(t *testing.T) (roles map[string][]rbacv1.PolicyRule, bound map[string]bool) {
	t.Helper()
	roles, bound = map[string][]rbacv1.PolicyRule{}, map[string]bool{}
	err := filepath.WalkDir(filepath.Join(root, "deploy"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
			var role struct { // or a binding
				rbacv1.ClusterRole
				RoleRef rbacv1.RoleRef
			}
			if err := yaml.Unmarshal(document, &role); err != nil {
				return err
			}
			switch role.Kind {
			case "ClusterRole":
				roles["cluster/"+role.Name] = role.Rules
			case "Role":
				roles[role.Name] = role.Rules
			case "ClusterRoleBinding", "RoleBinding":
				bound[role.RoleRef.Name] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return roles, bound
}

// What the shipped roles let their holder change is this and nothing else, and
// none lets him read Secrets, reach into pods or act as somebody else: that is
// what a stolen token is worth.
func TestWhatShippedRolesMayChange(t *testing.T) {
	want := map[string][]string{
		"cluster/evenkeel":                {"create events.k8s.io/events", "create pods/eviction", "patch events.k8s.io/events"},
		"cluster/evenkeel-extender":       nil,
		"cluster/evenkeel-kubelet-source": nil,
		"cluster/evenkeel-nodesync":       {"patch nodes"},
		"cluster/evenkeel-nodesync-apart": {"patch nodes"},
		"cluster/evenkeel-scheduler":      nil,
		"cluster/evenkeel-pods":           {"patch pods", "patch pods/status"}, // fenced: TestSteeringFence
		"cluster/evenkeel-steering":       {"create evenkeel.io/steerings", "delete evenkeel.io/steerings", "patch evenkeel.io/steerings"},
		"evenkeel-probe":                  {"create pods"}, // by dry run: TestProbeFence
		"cluster/evenkeel-webhook":        nil,
		"cluster/evenkeel-surge":          {"update apps/deployments/scale"}, // fenced: TestSurgeFence
		"evenkeel": {
			"create configmaps", "create coordination.k8s.io/leases",
			"update configmaps evenkeel-ledger", "update coordination.k8s.io/leases evenkeel",
		},
		"evenkeel-extender":       nil,
		"evenkeel-kubelet-source": {"create serviceaccounts/token evenkeel-kubelet-source"},
		"evenkeel-scheduler":      {"create coordination.k8s.io/leases", "update coordination.k8s.io/leases evenkeel-scheduler"},
		"evenkeel-serve":          {"update configmaps evenkeel-patterns"}, // and it follows the ledger
	}
	got := map[string][]string{}
	roles, bound := shippedRoles(t)
	for name, rules := range roles {
		got[name] = nil
		delete(bound, strings.TrimPrefix(name, "cluster/"))
		for _, rule := range rules {
			changes, odd := changesOf(rule)
			got[name] = append(got[name], changes...)
			for _, one := range odd {
				t.Errorf("%s may %s", name, one)
			}
		}
		slices.Sort(got[name])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	// The second scheduler is a kube-scheduler. Who reads metrics is asked of the
	// API server.
	others := []string{"extension-apiserver-authentication-reader", "system:auth-delegator", "system:kube-scheduler", "system:volume-scheduler"}
	if diff := cmp.Diff(others, slices.Sorted(maps.Keys(bound))); diff != "" {
		t.Errorf("roles of others that are bound (-want +got)\n%s", diff)
	}
}

// changesOf returns what a rule lets its holder change, and what no rule may
// have.
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
