package e2e

import (
	"context"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// A user who has only the rights listed in docs/looking.md sees the page through the API server and
// the pod's kubelet. A user without the right to forward a port gets an error that names it.
func TestUIForwardsThePage(t *testing.T) {
	f := newFixture(t)
	story, err := scenario.RequestSkew(t.Context(), f.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.standIn("evenkeel-extender", story.Nodes[len(story.Nodes)-1])
	f.watch(story)

	listing := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}
	forwarding := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/portforward"}, Verbs: []string{"get", "create"}}
	other := f.guest("other", listing)
	if got := stage.Run(t.Context(), t, t.TempDir(), "ui", "--kubeconfig", other); got.Code != 1 || !strings.Contains(got.Stderr, "forbidden") {
		t.Errorf("without the right to forward: exit code %d, %s", got.Code, got.Stderr)
	}

	viewer := f.guest("viewer", listing, forwarding)
	ui, err := evenkeel.Start(stage.Binary(), filepath.Join(t.TempDir(), "ui.log"), "ui", "--kubeconfig", viewer)
	if err != nil {
		t.Fatal(err)
	}
	defer ui.Kill()
	address := regexp.MustCompile(`(?m)^(http://127\.0\.0\.1:\d+/)\nshows pod evenkeel/evenkeel-extender`)
	f.Eventually(30*time.Second, "an address", func(context.Context) bool { return address.MatchString(ui.Log()) || ui.Ended() })
	found := address.FindStringSubmatch(ui.Log())
	if found == nil {
		t.Fatalf("it says:\n%s", ui.Log())
	}
	for path, has := range map[string]string{"": "is the hottest of 2 hot nodes</a></h1>", "page/page.css": "prefers-color-scheme", "explain/node/" + story.Hot[0]: story.Hot[0] + " is hot"} {
		status, page, err := evenkeel.Get(t.Context(), found[1]+path)
		if err != nil || status != http.StatusOK || !strings.Contains(string(page), has) {
			t.Errorf("/%s: status %d, %v, without %q:\n%.500s", path, status, err, has, page)
		}
	}
	if err := ui.Stop(); err != nil {
		t.Fatal(err)
	}
	if code, err := ui.Wait(t.Context()); err != nil || code != 0 {
		t.Errorf("stopped, it ends with %d, %v", code, err)
	}
}

// standIn creates a ready pod of an Evenkeel workload. Its ports for reports are forwarded to the
// case's process.
func (f *fixture) standIn(name, node string) {
	f.T.Helper()
	pods := f.Client().CoreV1().Pods(evenkeel.Namespace)
	_, err := pods.Create(f.T.Context(), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/name": name}},
		Spec: v1.PodSpec{
			NodeName: node, Tolerations: []v1.Toleration{{Operator: v1.TolerationOpExists}},
			SecurityContext: &v1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault}},
			Containers: []v1.Container{{Name: "evenkeel", Image: "evenkeel", SecurityContext: &v1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &v1.Capabilities{Drop: []v1.Capability{"ALL"}},
			}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	f.Eventually(time.Minute, "the pod is ready", func(ctx context.Context) bool {
		pod, err := pods.Get(ctx, name, metav1.GetOptions{})
		return err == nil && slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
	})
}

// guest returns a kubeconfig file of a user with rights in Evenkeel's namespace.
func (f *fixture) guest(name string, rules ...rbacv1.PolicyRule) string {
	f.T.Helper()
	ctx, client, meta := f.T.Context(), f.Client(), metav1.ObjectMeta{Name: name}
	_, err := client.CoreV1().ServiceAccounts(evenkeel.Namespace).Create(ctx, &v1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	if err == nil {
		_, err = client.RbacV1().Roles(evenkeel.Namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = client.RbacV1().RoleBindings(evenkeel.Namespace).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: evenkeel.Namespace, Name: name}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		f.T.Fatal(err)
	}
	path, err := f.KubeconfigFor(ctx, evenkeel.Namespace, name)
	if err != nil {
		f.T.Fatal(err)
	}
	return path
}
