package admission

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// helm runs helm against the case's cluster.
type helm struct {
	t             *testing.T
	c             *cluster.Cluster
	binary, chart string
	dir           string
}

func newHelm(t *testing.T, f *stage.Fixture) *helm {
	t.Helper()
	root, err := evenkeel.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := &helm{t: t, c: f.Cluster, binary: filepath.Join(root, "bin", "helm"), chart: filepath.Join(root, "charts", "evenkeel"), dir: t.TempDir()}
	if _, err := os.Stat(h.binary); err != nil {
		t.Fatalf("make chart-tools compiles helm: %v", err)
	}
	return h
}

// command returns a helm command in Evenkeel's namespace that ignores this machine's helm settings.
func (h *helm) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, h.binary, append(args, "--namespace", evenkeel.Namespace, "--kubeconfig", h.c.Kubeconfig())...)
	command.Dir, command.Env = h.dir, []string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH")}
	return command
}

// run runs helm and returns its output, including the chart's notes.
func (h *helm) run(args ...string) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	defer cancel()
	out, err := h.command(ctx, args...).CombinedOutput()
	if err != nil {
		h.t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// start runs the command of an installed Deployment, because no kubelet does, at the address that
// kube-scheduler asks.
func (h *helm) start(f *stage.Fixture, deployment string) (stop func()) {
	h.t.Helper()
	installed, err := h.c.Client().AppsV1().Deployments(evenkeel.Namespace).Get(h.t.Context(), deployment, metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	process := h.runPod(f, installed.Spec.Template.Spec)
	if err := process.WaitServing(h.t.Context(), stage.Reports()+"/status"); err != nil {
		h.t.Fatal(err)
	}
	return func() {
		h.t.Helper()
		if err := process.Stop(); err != nil {
			h.t.Error(err)
		}
	}
}

// runPod starts the command of a pod, with its ServiceAccount and its mounts.
func (h *helm) runPod(f *stage.Fixture, spec v1.PodSpec) *evenkeel.Process {
	h.t.Helper()
	kubeconfig, err := h.c.KubeconfigFor(h.t.Context(), evenkeel.Namespace, spec.ServiceAccountName)
	if err != nil {
		h.t.Fatal(err)
	}
	shipped := spec.Containers[0].Args
	if shipped[0] == "extender" {
		f.Access.Extender = kubeconfig
	} else {
		f.Access.Evenkeel = kubeconfig
	}
	const flag = "--listen-address="
	dir := h.t.TempDir()
	places := []string{"/etc/evenkeel/policy.yaml", h.policy(dir, spec), flag + "127.0.0.1:8443", flag + stage.Listen(), flag + ":8443", flag + stage.Listen()}
	for _, mount := range spec.Containers[0].VolumeMounts {
		if folder := h.secret(dir, spec, mount.Name); folder != "" {
			places = append(places, mount.MountPath+"/", folder+"/")
		}
	}
	var args []string
	for _, arg := range shipped[1:] {
		args = append(args, strings.NewReplacer(places...).Replace(arg))
	}
	return f.Start(shipped[0], append(args, "--metrics-address=0")...)
}

// secret writes the Secret of a volume into a folder below dir, or returns "" if the pod has no
// such volume.
func (h *helm) secret(dir string, spec v1.PodSpec, volume string) (folder string) {
	h.t.Helper()
	i := slices.IndexFunc(spec.Volumes, func(v v1.Volume) bool { return v.Name == volume })
	if i < 0 || spec.Volumes[i].Secret == nil {
		return ""
	}
	name := spec.Volumes[i].Secret.SecretName
	object, err := h.c.Client().CoreV1().Secrets(evenkeel.Namespace).Get(h.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	folder = filepath.Join(dir, name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		h.t.Fatal(err)
	}
	for file, content := range object.Data {
		if err := os.WriteFile(filepath.Join(folder, file), content, 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
	return folder
}

// policy writes the policy that the pods mount to a file in dir.
func (h *helm) policy(dir string, spec v1.PodSpec) (file string) {
	h.t.Helper()
	file = filepath.Join(dir, "policy.yaml")
	for _, volume := range spec.Volumes {
		if volume.ConfigMap == nil {
			continue
		}
		object, err := h.c.Client().CoreV1().ConfigMaps(evenkeel.Namespace).Get(h.t.Context(), volume.ConfigMap.Name, metav1.GetOptions{})
		if err == nil {
			err = os.WriteFile(file, []byte(object.Data["policy.yaml"]), 0o600)
		}
		if err != nil {
			h.t.Fatal(err)
		}
		return file
	}
	h.t.Fatal("the pods mount no policy")
	return ""
}

// grants returns the permissions of a ServiceAccount, both cluster-wide and in its namespace.
func (h *helm) grants(account string) []stage.Right {
	h.t.Helper()
	return stage.Rights(h.rules(account))
}

func (h *helm) rules(account string) (rules []rbacv1.PolicyRule) {
	h.t.Helper()
	ctx, client := h.t.Context(), h.c.Client().RbacV1()
	cluster, err := client.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, binding := range cluster.Items {
		if !binds(binding.Subjects, account) || strings.HasPrefix(binding.RoleRef.Name, "system:") {
			continue
		}
		role, err := client.ClusterRoles().Get(ctx, binding.RoleRef.Name, metav1.GetOptions{})
		if err != nil {
			h.t.Fatal(err)
		}
		rules = append(rules, role.Rules...)
	}
	namespaced, err := client.RoleBindings(v1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, binding := range namespaced.Items {
		if !binds(binding.Subjects, account) || strings.HasPrefix(binding.Namespace, "kube-") {
			continue
		}
		role, err := client.Roles(binding.Namespace).Get(ctx, binding.RoleRef.Name, metav1.GetOptions{})
		if err != nil {
			h.t.Fatal(err)
		}
		rules = append(rules, role.Rules...)
	}
	return rules
}

func binds(subjects []rbacv1.Subject, account string) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool { return s.Namespace == evenkeel.Namespace && s.Name == account })
}

// checkRights checks that the processes of a ServiceAccount were denied nothing and have used all
// their permissions. It excepts permissions that are rarely needed and those listed in done.
func (h *helm) checkRights(f *stage.Fixture, since cluster.AuditMark, account string, done ...stage.Right) {
	h.t.Helper()
	for _, right := range stage.Unused(h.grants(account), h.allowed(f, since, account)) {
		if !slices.Contains(done, right) {
			h.t.Errorf("%s may %s and never did", account, right)
		}
	}
}

// allowed returns the requests of a ServiceAccount, and fails the test if any was denied.
func (h *helm) allowed(f *stage.Fixture, since cluster.AuditMark, account string) cluster.Requests {
	h.t.Helper()
	requests, err := f.Audit(since)
	if err != nil {
		h.t.Fatal(err)
	}
	mine := requests.By("system:serviceaccount:" + evenkeel.Namespace + ":" + account)
	if len(mine) == 0 {
		h.t.Errorf("%s has asked the API server nothing", account)
	}
	if forbidden := mine.Forbidden(); len(forbidden) > 0 {
		h.t.Errorf("forbidden to the chart's ServiceAccount %s:\n%v", account, forbidden)
	}
	return mine
}

// uninstall runs helm uninstall, and the command of the Job that helm starts, because no kubelet
// does.
func (h *helm) uninstall(f *stage.Fixture) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 3*time.Minute)
	defer cancel()
	command := h.command(ctx, "uninstall", "evenkeel", "--timeout", "2m")
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Start(); err != nil {
		h.t.Fatal(err)
	}
	var job *batchv1.Job
	f.Eventually(time.Minute, "the Job that cleans up", func(ctx context.Context) bool {
		found, err := h.c.Client().BatchV1().Jobs(evenkeel.Namespace).Get(ctx, "evenkeel-cleanup", metav1.GetOptions{})
		job = found
		return err == nil
	})
	spec := job.Spec.Template.Spec
	kubeconfig, err := h.c.KubeconfigFor(ctx, evenkeel.Namespace, spec.ServiceAccountName)
	if err != nil {
		h.t.Fatal(err)
	}
	h.fenced(f, kubeconfig)
	mark := f.Mark()
	if got := stage.Run(ctx, h.t, h.dir, append(spec.Containers[0].Args, "--kubeconfig", kubeconfig)...); got.Code != 0 {
		h.t.Errorf("cleanup: code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	h.succeed(f, job)
	if err := command.Wait(); err != nil {
		h.t.Errorf("helm uninstall: %v\n%s", err, &out)
	}
	h.allowed(f, mark, spec.ServiceAccountName)
}

// fenced checks that the API server refuses what someone with the token of the cleanup Job could do
// with its permissions on all pods and nodes. An interrupted uninstall leaves that token behind.
func (h *helm) fenced(f *stage.Fixture, kubeconfig string) {
	h.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		h.t.Fatal(err)
	}
	thief, err := kubernetes.NewForConfig(config)
	if err != nil {
		h.t.Fatal(err)
	}
	core, options := h.c.Client().CoreV1(), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	refused := func(err error) bool {
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "Evenkeel may")
	}
	f.Eventually(30*time.Second, "a pod's image to be fenced", func(ctx context.Context) bool {
		pods, err := core.Pods("").List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil || len(pods.Items) == 0 { // until the Job's pod exists
			return false
		}
		pod := &pods.Items[0]
		image := fmt.Sprintf(`{"spec": {"containers": [{"name": %q, "image": "evil"}]}}`, pod.Spec.Containers[0].Name)
		_, err = thief.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, []byte(image), options)
		return refused(err)
	})
	nodes, err := core.Nodes().List(h.t.Context(), metav1.ListOptions{Limit: 1})
	if err != nil || len(nodes.Items) == 0 {
		h.t.Fatalf("there is no node to try: %v", err)
	}
	f.Eventually(30*time.Second, "nodes to be fenced", func(ctx context.Context) bool {
		_, err := thief.CoreV1().Nodes().Patch(ctx, nodes.Items[0].Name, types.MergePatchType, []byte(`{"spec": {"unschedulable": true}}`), options)
		return refused(err)
	})
}

// leavesNothing waits until the cluster has the same content as before, plus the namespace that
// --create-namespace made: helm leaves that to the user.
func (h *helm) leavesNothing(before map[string]bool) {
	h.t.Helper()
	want := slices.Sorted(maps.Keys(before))
	for deadline := time.Now().Add(time.Minute); ; { // namespaces and kinds are deleted asynchronously
		after := h.inventory()
		for _, made := range []string{"namespaces evenkeel", "configmaps evenkeel/kube-root-ca.crt", "serviceaccounts evenkeel/default"} {
			delete(after, made)
		}
		diff := cmp.Diff(want, slices.Sorted(maps.Keys(after)))
		if diff == "" {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("what is left (-before +after):\n%s", diff)
		}
		select {
		case <-h.t.Context().Done():
		case <-time.After(time.Second):
		}
	}
}

// succeed sets the status of the Job's pod to succeeded, as its kubelet would.
func (h *helm) succeed(f *stage.Fixture, job *batchv1.Job) {
	h.t.Helper()
	pods := h.c.Client().CoreV1().Pods(job.Namespace)
	f.Eventually(time.Minute, "the Job's pod to end", func(ctx context.Context) bool {
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "job-name=" + job.Name})
		if err != nil || len(list.Items) == 0 {
			return false
		}
		pod := &list.Items[0]
		pod.Status.Phase = v1.PodSucceeded
		_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		return err == nil
	})
}

// passing are resources whose objects come and go on their own.
var passing = []string{"events", "pods", "replicasets", "endpoints", "endpointslices", "leases", "nodes", "componentstatuses"}

// inventory lists every object of the cluster as "resource namespace/name", except those of passing
// resources.
func (h *helm) inventory() map[string]bool {
	h.t.Helper()
	client, err := dynamic.NewForConfig(h.c.Config())
	if err != nil {
		h.t.Fatal(err)
	}
	lists, err := h.c.Client().Discovery().ServerPreferredResources()
	if err != nil {
		h.t.Fatal(err)
	}
	all := map[string]bool{}
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || slices.Contains(passing, resource.Name) {
				continue
			}
			objects, err := client.Resource(group.WithResource(resource.Name)).List(h.t.Context(), metav1.ListOptions{})
			if err != nil {
				continue // an aggregated API, such as metrics.k8s.io
			}
			for i := range objects.Items {
				o := &objects.Items[i]
				all[resource.Name+" "+path.Join(o.GetNamespace(), o.GetName())] = true
			}
		}
	}
	return all
}
