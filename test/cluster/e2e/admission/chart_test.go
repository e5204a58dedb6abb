package admission

import (
	"bytes"
	"context"
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

const chartUser = "system:serviceaccount:evenkeel:evenkeel"

// The chart as it is installed by default: helm installs it, what its Deployment
// runs moves pods to their planned nodes with the rights that it makes and no
// others, another variant takes its place and makes way again, and uninstalling
// leaves nothing.
func TestChart(t *testing.T) {
	f, story := untouched(t)
	h := newHelm(t, f)
	before := h.inventory()
	h.run("install", "evenkeel", h.chart, "--create-namespace", "--set", "replicas=0,deschedulingInterval=3s",
		"--set-file", "policyFile="+f.Policy(stage.RealUsage, stage.Fast))
	mark := f.Mark()
	stop := h.start(f)
	o := asShipped(t, f)
	cooled(t, f, o, story)
	onPlan(t, f, story, mark)
	h.checkRights(f, mark)

	byGate, patchPods := h.grants(), right{"patch", "", "pods"}
	h.run("upgrade", "evenkeel", h.chart, "--reuse-values", "--set", "steering.variant=names")
	if byNames := h.grants(); slices.Contains(byNames, patchPods) || !slices.Contains(byGate, patchPods) {
		t.Errorf("by names it may %v, by the gate %v", byNames, byGate)
	}
	h.run("rollback", "evenkeel", "1")
	if diff := cmp.Diff(byGate, h.grants()); diff != "" {
		t.Errorf("rights after the rollback (-want +got):\n%s", diff)
	}

	stop()
	h.uninstall(f)
	h.leavesNothing(before)
}

// The API server accepts every object of the chart, with the values of each mode
// and steering. Kinds of operators that are not there are left out.
func TestChartIsAccepted(t *testing.T) {
	c := stage.Cluster()
	if err := c.Reset(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	root, err := evenkeel.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "charts", "evenkeel", "testdata", "*.yaml"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d rendered files, %v", len(files), err)
	}
	for _, namespace := range []string{evenkeel.Namespace, probes} { // what follows is to be in them
		object := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if _, err := c.Client().CoreV1().Namespaces().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	operators := []string{"cert-manager.io/v1", "monitoring.coreos.com/v1"}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var known []string
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			if !slices.ContainsFunc(operators, func(group string) bool { return strings.Contains("\n"+document, "\napiVersion: "+group+"\n") }) {
				known = append(known, document)
			}
		}
		manifest := filepath.Join(t.TempDir(), filepath.Base(file))
		if err := os.WriteFile(manifest, []byte(strings.Join(known, "\n---\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := evenkeel.Apply(t.Context(), c, manifest, true); err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
	}
}

// untouched is the story of request-skew on a cluster that has nothing of
// Evenkeel's, with kube-scheduler as it comes.
func untouched(t *testing.T) (*stage.Fixture, *scenario.Story) {
	t.Helper()
	c := stage.Cluster()
	if err := c.Reset(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	files, err := evenkeel.Manifests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Backward(files) {
		if err := evenkeel.Delete(t.Context(), c, file); err != nil {
			t.Fatal(err)
		}
	}
	f := &stage.Fixture{Cluster: c, T: t}
	f.RestoreScheduler()
	if err := f.RestartScheduler(t.Context()); err != nil {
		t.Fatal(err)
	}
	story, err := scenario.RequestSkew(t.Context(), f.Cluster)
	if err == nil {
		err = f.WaitMetrics(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return f, story
}

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

// command is helm in Evenkeel's namespace, with nothing of this machine's
// settings.
func (h *helm) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, h.binary, append(args, "--namespace", evenkeel.Namespace, "--kubeconfig", h.c.Kubeconfig())...)
	command.Dir, command.Env = h.dir, []string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH")}
	return command
}

func (h *helm) run(args ...string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	defer cancel()
	if out, err := h.command(ctx, args...).CombinedOutput(); err != nil {
		h.t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// start runs what the installed Deployment runs, with its ServiceAccount and its
// policy. No kubelet would.
func (h *helm) start(f *stage.Fixture) (stop func()) {
	h.t.Helper()
	ctx, client := h.t.Context(), h.c.Client()
	deployment, err := client.AppsV1().Deployments(evenkeel.Namespace).Get(ctx, "evenkeel", metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	spec := deployment.Spec.Template.Spec
	if f.Access.Evenkeel, err = h.c.KubeconfigFor(ctx, evenkeel.Namespace, spec.ServiceAccountName); err != nil {
		h.t.Fatal(err)
	}
	places := strings.NewReplacer("/etc/evenkeel/policy.yaml", h.policy(spec), "127.0.0.1:8443", stage.Listen())
	var args []string
	for _, arg := range spec.Containers[0].Args[1:] {
		args = append(args, places.Replace(arg))
	}
	process := f.Start(spec.Containers[0].Args[0], append(args, "--metrics-address=0")...)
	if err := process.WaitServing(ctx, "http://"+stage.Listen()+"/livez"); err != nil {
		h.t.Fatal(err)
	}
	return func() {
		if err := process.Stop(); err != nil {
			h.t.Error(err)
		}
	}
}

// policy writes the policy that the pods mount into a file.
func (h *helm) policy(spec v1.PodSpec) (file string) {
	h.t.Helper()
	file = filepath.Join(h.dir, "policy.yaml")
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

// grants are the rights of the ServiceAccount, in the whole cluster and in its
// namespace.
func (h *helm) grants() (granted []right) {
	h.t.Helper()
	for _, rule := range h.rules() {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					granted = append(granted, right{verb, group, resource})
				}
			}
		}
	}
	slices.SortFunc(granted, func(a, b right) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(granted)
}

// right is a verb on a resource.
type right struct{ Verb, Group, Resource string }

func (r right) String() string { return r.Verb + " " + r.Resource + "." + r.Group }

func (h *helm) rules() (rules []rbacv1.PolicyRule) {
	h.t.Helper()
	ctx, client := h.t.Context(), h.c.Client().RbacV1()
	cluster, err := client.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, binding := range cluster.Items {
		if !isOurs(binding.Subjects) || strings.HasPrefix(binding.RoleRef.Name, "system:") {
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
		if !isOurs(binding.Subjects) || strings.HasPrefix(binding.Namespace, "kube-") {
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

func isOurs(subjects []rbacv1.Subject) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool { return s.Namespace == evenkeel.Namespace && s.Name == "evenkeel" })
}

// seldomUsed holds what is granted for what this case does not do, with what
// does it.
var seldomUsed = map[right]string{
	{"get", "scheduling.k8s.io", "priorityclasses"}: "a priorityThreshold by name",
	{"get", "metrics.k8s.io", "nodes"}:              "an upstream plugin that reads metrics.k8s.io",
	{"get", "metrics.k8s.io", "pods"}:               "the same",
	{"patch", "events.k8s.io", "events"}:            "an Event that repeats",
}

// checkRights makes sure that the process was refused nothing, and may do nothing
// that it never does.
func (h *helm) checkRights(f *stage.Fixture, since cluster.AuditMark) {
	h.t.Helper()
	requests, err := f.Audit(since)
	if err != nil {
		h.t.Fatal(err)
	}
	mine := requests.By(chartUser)
	if forbidden := mine.Forbidden(); len(forbidden) > 0 {
		h.t.Errorf("forbidden to the chart's ServiceAccount:\n%v", forbidden)
	}
	used := map[right]bool{}
	for _, r := range mine {
		used[right{r.Verb, r.Group, r.Resource}] = true
	}
	for _, granted := range h.grants() {
		// An API server that streams the first list through the watch is not
		// asked for a list.
		streamed := granted.Verb == "list" && used[right{"watch", granted.Group, granted.Resource}]
		if seldomUsed[granted] == "" && !used[granted] && !streamed {
			h.t.Errorf("it may %s and never did", granted)
		}
	}
}

// uninstall has helm take the chart away, and runs what its Job runs. No kubelet
// would.
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
	if got := stage.Run(ctx, h.t, h.dir, append(spec.Containers[0].Args, "--kubeconfig", kubeconfig)...); got.Code != 0 {
		h.t.Errorf("cleanup: code %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	h.succeed(f, job)
	if err := command.Wait(); err != nil {
		h.t.Errorf("helm uninstall: %v\n%s", err, &out)
	}
}

// leavesNothing waits until the cluster has what it had before, and the namespace
// that --create-namespace made: helm leaves it to the user.
func (h *helm) leavesNothing(before map[string]bool) {
	h.t.Helper()
	want := slices.Sorted(maps.Keys(before))
	for deadline := time.Now().Add(time.Minute); ; { // namespaces and kinds take a while to go
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

// succeed ends the Job's pod as its kubelet would.
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

// passing are kinds whose objects come and go by themselves.
var passing = []string{"events", "pods", "replicasets", "endpoints", "endpointslices", "leases", "nodes", "componentstatuses"}

// inventory lists every object of the cluster as "resource namespace/name", but
// for those that come and go by themselves.
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
