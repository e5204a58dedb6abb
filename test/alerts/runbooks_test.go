package alerts_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// right is a permission that a role grants to a ServiceAccount, in one namespace or, if namespace
// is empty, in all of them.
type right struct {
	account, namespace string
	rules              []rbacv1.PolicyRule
}

// allows reports whether the right covers a verb on the named resource, or on all of them if name
// is empty.
func (r *right) allows(account, verb, resource, name, namespace string) bool {
	if r.account != account || r.namespace != "" && r.namespace != namespace {
		return false
	}
	return slices.ContainsFunc(r.rules, func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.Verbs, verb) && slices.Contains(rule.Resources, resource) &&
			(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, name))
	})
}

// shippedRights returns the rights that the manifests in deploy grant.
func shippedRights(t *testing.T) (all []right) {
	t.Helper()
	rules, bindings := map[string][]rbacv1.PolicyRule{}, []rbacv1.RoleBinding{}
	err := filepath.WalkDir(filepath.Join(root, "deploy"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		for document := range strings.SplitSeq(contentOf(t, path), "\n---\n") {
			var role rbacv1.ClusterRole
			var binding rbacv1.RoleBinding
			if yaml.Unmarshal([]byte(document), &role) != nil || yaml.Unmarshal([]byte(document), &binding) != nil {
				continue // another kind
			}
			switch role.Kind {
			case "Role", "ClusterRole":
				rules[role.Kind+" "+role.Name] = role.Rules
			case "RoleBinding", "ClusterRoleBinding":
				bindings = append(bindings, binding)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range bindings {
		for _, subject := range bindings[i].Subjects {
			all = append(all, right{subject.Name, bindings[i].Namespace, rules[bindings[i].RoleRef.Kind+" "+bindings[i].RoleRef.Name]})
		}
	}
	if len(all) < 5 {
		t.Fatalf("%d bindings were found", len(all))
	}
	return all
}

var canI = regexp.MustCompile(`kubectl auth can-i (\S+) ([a-z]+)(?:/(\S+))?(?: -n (\S+))? --as system:serviceaccount:evenkeel:(\S+)`)

// A correct installation grants the permissions that runbooks check with `kubectl auth can-i`. If a
// permission is limited to a named object, the command answers no unless it includes the name.
func TestRunbooksAskForRightsThatAreShipped(t *testing.T) {
	shipped, asked := shippedRights(t), 0
	for _, q := range canI.FindAllStringSubmatch(contentOf(t, runbooks), -1) {
		asked++
		if !slices.ContainsFunc(shipped, func(r right) bool { return r.allows(q[5], q[1], q[2], q[3], q[4]) }) {
			t.Errorf("%s: the answer is no though nothing is wrong", q[0])
		}
	}
	if asked < 3 {
		t.Errorf("%d questions were found", asked)
	}
}

// logs matches commands that read logs.
var logs = regexp.MustCompile(`(?m)^    kubectl .*\blogs .*$`)

// shippedPods returns the pod labels of each workload, by its kind, name and file, from the
// manifests in deploy and from the rendered chart.
func shippedPods(t *testing.T) map[string]labels.Set {
	t.Helper()
	all := map[string]labels.Set{}
	for _, folder := range []string{filepath.Join("deploy", "overlays"), filepath.Join("charts", "evenkeel", "testdata")} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			for document := range strings.SplitSeq(contentOf(t, path), "\n---\n") {
				var one batchv1.CronJob // a Deployment and a Job start with the same fields
				if yaml.Unmarshal([]byte(document), &one) != nil {
					continue // another kind
				}
				var job batchv1.Job
				if one.Kind != "CronJob" && yaml.Unmarshal([]byte(document), &job) != nil {
					continue
				}
				switch name := fmt.Sprintf("%s %s of %s", one.Kind, one.Name, path); one.Kind {
				case "CronJob":
					all[name] = one.Spec.JobTemplate.Spec.Template.Labels
				case "Deployment", "Job":
					all[name] = job.Spec.Template.Labels
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 12 {
		t.Fatalf("%d kinds of pods were found", len(all))
	}
	return all
}

var podSelector = regexp.MustCompile(` -l ('[^']+'|\S+)`)

// Runbooks read the logs of a named pod, or the complete logs of all replicas in every mode. Given
// a Deployment, kubectl reads only one pod, which may not be the leader. Given a selector, it reads
// only ten lines of each.
func TestRunbooksReadTheLogsOfAllReplicas(t *testing.T) {
	pods, found := shippedPods(t), 0
	for _, page := range []string{runbooks, filepath.Join(root, "docs", "looking.md")} {
		for _, command := range logs.FindAllString(contentOf(t, page), -1) {
			found++
			if strings.Contains(command, " pod/") {
				continue
			}
			by := podSelector.FindStringSubmatch(command)
			if by == nil || !strings.Contains(command, " --tail=") {
				t.Errorf("%s: %s", page, command)
				continue
			}
			of, err := labels.Parse(strings.Trim(by[1], "'"))
			if err != nil {
				t.Fatalf("%s: %s: %v", page, command, err)
			}
			for name, set := range pods {
				if !of.Matches(set) {
					t.Errorf("%s: %s: it finds no pods of the %s", page, command, name)
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("%d commands were found", found)
	}
}
