package e2e

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// deployDir returns the folder of the shipped manifests.
func deployDir(t *testing.T) string {
	t.Helper()
	root, err := evenkeel.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "deploy")
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// shippedFiles lists the YAML files of deploy, relative to it.
func shippedFiles(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".yaml" {
			relative, _ := filepath.Rel(dir, path) // path is below dir
			files = append(files, relative)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// shippedObjects decodes every object of the shipped manifests by file, and
// rejects unknown fields.
func shippedObjects(t *testing.T) map[string][]runtime.Object {
	t.Helper()
	files, err := evenkeel.Manifests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string][]runtime.Object{}
	for _, file := range files {
		documents := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(readFile(t, file))))
		content := make([]byte, 1<<20)
		for {
			n, err := documents.Read(content)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("reading %s: %v", file, err)
			}
			object, _, err := scheme.Codecs.UniversalDeserializer().Decode(content[:n], nil, nil)
			if err != nil {
				t.Fatalf("decoding %s: %v", file, err)
			}
			objects[file] = append(objects[file], object)
		}
	}
	return objects
}

// templates returns the pod templates of the shipped workloads, by the
// workload's kind and name.
func templates(t *testing.T) map[string]v1.PodTemplateSpec {
	t.Helper()
	pods := map[string]v1.PodTemplateSpec{}
	for _, objects := range shippedObjects(t) {
		addTemplates(pods, "", objects)
	}
	return pods
}

// chartTemplates returns the pod templates of the chart as rendered with each of
// its values, hooks included.
func chartTemplates(t *testing.T) map[string]v1.PodTemplateSpec {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(deployDir(t)), "charts", "evenkeel", "testdata", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	pods := map[string]v1.PodTemplateSpec{}
	for _, file := range files {
		var known []runtime.Object
		for document := range strings.SplitSeq("\n"+string(readFile(t, file)), "\n---\n") {
			// Kinds of operators are unknown here, and have no pods.
			if object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(document), nil, nil); err == nil {
				known = append(known, object)
			}
		}
		addTemplates(pods, filepath.Base(file)+"/", known)
	}
	return pods
}

func addTemplates(pods map[string]v1.PodTemplateSpec, prefix string, objects []runtime.Object) {
	for _, object := range objects {
		switch o := object.(type) {
		case *appsv1.Deployment:
			pods[prefix+"Deployment/"+o.Name] = o.Spec.Template
		case *batchv1.Job:
			pods[prefix+"Job/"+o.Name] = o.Spec.Template
		case *batchv1.CronJob:
			pods[prefix+"CronJob/"+o.Name] = o.Spec.JobTemplate.Spec.Template
		}
	}
}

// prometheusRule is a manifest with a kind of the Prometheus Operator.
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
	files = append(files, components...)
	for _, file := range files {
		if strings.HasSuffix(file, certManager) || strings.HasSuffix(file, prometheusRule) {
			continue // its kinds belong to operators that are not installed
		}
		dryRun := filepath.Base(file) != "namespace.yaml" // the following objects are in it
		if err := evenkeel.Apply(t.Context(), f.Cluster, file, dryRun); err != nil {
			t.Error(err)
		}
	}
	// Manifests are what is applied; the other files configure kustomize or
	// kube-scheduler.
	dir := deployDir(t)
	for _, file := range shippedFiles(t, dir) {
		path := filepath.Join(dir, file)
		other := filepath.Base(file) == "kustomization.yaml" || file == "kube-scheduler.yaml" || file == certManager // TestCertManagerMakesTheSame
		if !other && !slices.Contains(files, path) {
			t.Errorf("%s is not among the manifests that were checked", file)
		}
	}
}

// The namespace enforces the restricted Pod Security Standard, and the pods of
// every workload pass it.
func TestPodsPassTheNamespacesPodSecurity(t *testing.T) {
	f := newFixture(t)
	pods := f.Client().CoreV1().Pods(evenkeel.Namespace)
	create := func(template v1.PodTemplateSpec) error {
		pod := &v1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		pod.GenerateName = "checked-"
		_, err := pods.Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	shipped := templates(t)
	if want := []string{"CronJob/evenkeel", "Deployment/evenkeel", "Deployment/evenkeel-extender", "Deployment/evenkeel-nodesync", "Deployment/evenkeel-scheduler", "Job/evenkeel"}; !slices.Equal(slices.Sorted(maps.Keys(shipped)), want) {
		t.Errorf("workloads %v, want %v", slices.Sorted(maps.Keys(shipped)), want)
	}
	rendered := chartTemplates(t)
	if len(rendered) < 15 {
		t.Errorf("the chart has the workloads %v only", slices.Sorted(maps.Keys(rendered)))
	}
	maps.Copy(shipped, rendered)
	for name, template := range shipped {
		t.Run(name, func(t *testing.T) {
			template.Spec.ServiceAccountName = "" // some of the chart's do not exist
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

// Each shipped container states its resources, cannot write to its image, and
// reads the mounted policy; lasting ones have probes.
func TestContainersAreWellBehaved(t *testing.T) {
	for name, template := range templates(t) {
		t.Run(name, func(t *testing.T) {
			container := template.Spec.Containers[0]
			for _, resource := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
				if request := container.Resources.Requests[resource]; request.Sign() <= 0 {
					t.Errorf("it requests no %s", resource)
				}
			}
			if s := container.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
				t.Error("its root file system can be written to")
			}
			if template.Spec.PriorityClassName == "" {
				t.Error("it has no priority class, so the pods that it is to move can preempt it")
			}
			longRunning := strings.HasPrefix(name, "Deployment/")
			if longRunning && (container.LivenessProbe == nil || container.ReadinessProbe == nil) {
				t.Error("it is not probed")
			}
			if name == "Deployment/evenkeel-scheduler" {
				checkSchedulerMounts(t, template.Spec)
				return
			}
			checkMounts(t, template.Spec)
			checkFlags(t, container.Args)
		})
	}
}

// checkMounts checks that the files on the command line are those that the
// ConfigMap and the Secret provide; a process that answers kube-scheduler needs
// the latter.
func checkMounts(t *testing.T, spec v1.PodSpec) {
	t.Helper()
	container := spec.Containers[0]
	want := map[string]string{"/etc/evenkeel": "ConfigMap evenkeel-policy"}
	files := []string{"--policy-config-file=/etc/evenkeel/policy.yaml"}
	if slices.Contains([]string{"serve", "extender"}, container.Args[0]) {
		want["/etc/evenkeel-tls"] = "Secret evenkeel-server-tls"
		files = append(files, "--tls-cert-file=/etc/evenkeel-tls/tls.crt", "--tls-private-key-file=/etc/evenkeel-tls/tls.key", "--client-ca-file=/etc/evenkeel-tls/ca.crt")
	}
	mounted := map[string]string{}
	for i, mount := range container.VolumeMounts {
		switch volume := spec.Volumes[i]; {
		case volume.ConfigMap != nil:
			mounted[mount.MountPath] = "ConfigMap " + volume.ConfigMap.Name
		case volume.Secret != nil:
			mounted[mount.MountPath] = "Secret " + volume.Secret.SecretName
		}
	}
	if diff := cmp.Diff(want, mounted); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	for _, file := range files {
		if !slices.Contains(container.Args, file) {
			t.Errorf("arguments %q, want %s among them", container.Args, file)
		}
	}
}

// checkSchedulerMounts checks that the second scheduler finds its configuration
// and the policy named in it.
func checkSchedulerMounts(t *testing.T, spec v1.PodSpec) {
	t.Helper()
	mounted := map[string]string{}
	for i, mount := range spec.Containers[0].VolumeMounts {
		mounted[mount.MountPath] = spec.Volumes[i].ConfigMap.Name
	}
	if diff := cmp.Diff(map[string]string{"/etc/evenkeel": "evenkeel-policy", "/etc/kubernetes": "evenkeel-scheduler"}, mounted); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	if !slices.Contains(spec.Containers[0].Args, "--config=/etc/kubernetes/scheduler.yaml") {
		t.Errorf("arguments %q", spec.Containers[0].Args)
	}
	var shipped v1.ConfigMap
	if err := yaml.UnmarshalStrict(readFile(t, filepath.Join(deployDir(t), "overlays", "second-scheduler", "config.yaml")), &shipped); err != nil {
		t.Fatal(err)
	}
	var config schedulerv1.KubeSchedulerConfiguration
	if err := yaml.UnmarshalStrict([]byte(shipped.Data["scheduler.yaml"]), &config); err != nil {
		t.Fatal(err)
	}
	if len(config.Profiles) != 1 || *config.Profiles[0].SchedulerName != "evenkeel-scheduler" || len(config.Profiles[0].PluginConfig) != 1 {
		t.Fatalf("profiles %+v", config.Profiles)
	}
	if args := string(config.Profiles[0].PluginConfig[0].Args.Raw); args != `{"policyConfigFile":"/etc/evenkeel/policy.yaml"}` {
		t.Errorf("args of the plugin: %s", args)
	}
}

// checkFlags runs the binary with the shipped arguments as far as possible
// without the mounted file, to check that it knows them.
func checkFlags(t *testing.T, args []string) {
	t.Helper()
	got := stage.Run(t.Context(), t, t.TempDir(), args...)
	if !strings.Contains(got.Stderr, "reading the policy: open /etc/evenkeel/policy.yaml") {
		t.Errorf("evenkeel %s: %s", strings.Join(args, " "), got.Stderr)
	}
}

// The shipped ConfigMap contains policy.yaml verbatim.
func TestShippedConfigMapHoldsThePolicy(t *testing.T) {
	dir := deployDir(t)
	var shipped v1.ConfigMap
	if err := yaml.UnmarshalStrict(readFile(t, filepath.Join(dir, "base", "policy-configmap.yaml")), &shipped); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"policy.yaml": string(readFile(t, filepath.Join(dir, "..", "policy.yaml")))}
	if diff := cmp.Diff(want, shipped.Data); diff != "" {
		t.Errorf("run make update-deploy (-policy.yaml +ConfigMap):\n%s", diff)
	}
}

// Every kustomization names existing files, and every shipped file is named by
// one.
func TestKustomizationsAreComplete(t *testing.T) {
	dir := deployDir(t)
	named := map[string]bool{"kube-scheduler.yaml": true} // for the control plane, not for kustomize
	for _, file := range shippedFiles(t, dir) {
		if filepath.Base(file) != "kustomization.yaml" {
			continue
		}
		named[file] = true
		var k struct {
			APIVersion string   `json:"apiVersion"`
			Kind       string   `json:"kind"`
			Resources  []string `json:"resources"`
			Components []string `json:"components"`
			NameSuffix string   `json:"nameSuffix"`
			Patches    []struct {
				Target struct{ Kind, Name string } `json:"target"`
				Patch  string                      `json:"patch"`
			} `json:"patches"`
		}
		if err := yaml.UnmarshalStrict(readFile(t, filepath.Join(dir, file)), &k); err != nil {
			t.Fatalf("reading %s: %v", file, err)
		}
		kustomization := k.APIVersion == "kustomize.config.k8s.io/v1beta1" && k.Kind == "Kustomization"
		component := k.APIVersion == "kustomize.config.k8s.io/v1alpha1" && k.Kind == "Component" && strings.HasPrefix(file, "components/")
		if !kustomization && !component {
			t.Errorf("%s is a %s %s", file, k.APIVersion, k.Kind)
		}
		for _, resource := range slices.Concat(k.Resources, k.Components) {
			target := filepath.Join(filepath.Dir(file), resource)
			if filepath.Ext(target) != ".yaml" {
				target = filepath.Join(target, "kustomization.yaml")
			}
			if _, err := os.Stat(filepath.Join(dir, target)); err != nil {
				t.Errorf("%s names %s: %v", file, resource, err)
			}
			named[target] = true
		}
	}
	for _, file := range shippedFiles(t, dir) {
		if !named[file] {
			t.Errorf("no kustomization names %s", file)
		}
	}
}

// kube-scheduler understands the shipped configuration, which these tests and
// the demo use, too.
func TestShippedSchedulerConfiguration(t *testing.T) {
	content := readFile(t, filepath.Join(deployDir(t), "kube-scheduler.yaml"))
	var config schedulerv1.KubeSchedulerConfiguration
	if err := yaml.UnmarshalStrict(content, &config); err != nil {
		t.Fatal(err)
	}
	if config.APIVersion != schedulerv1.SchemeGroupVersion.String() || config.Kind != "KubeSchedulerConfiguration" {
		t.Errorf("it is a %s %s", config.APIVersion, config.Kind)
	}
	if len(config.Extenders) != 1 {
		t.Fatalf("%d extenders, want 1", len(config.Extenders))
	}
	want := cluster.Extender(config.Extenders[0].URLPrefix)
	want.EnableHTTPS = true
	want.TLSConfig = &schedulerv1.ExtenderTLSConfig{
		ServerName: "evenkeel.evenkeel.svc", CAFile: "/etc/kubernetes/evenkeel/ca.crt",
		CertFile: "/etc/kubernetes/evenkeel/client.crt", KeyFile: "/etc/kubernetes/evenkeel/client.key",
	}
	if diff := cmp.Diff(want, config.Extenders[0]); diff != "" {
		t.Errorf("extender (-tested +shipped):\n%s", diff)
	}
}

// grantedRights lists the permissions in the shipped roles, by user: roles and
// ServiceAccounts have the same names, except for what serve needs in addition.
func grantedRights(t *testing.T) map[string][]stage.Right {
	t.Helper()
	users := map[string]string{"evenkeel": evenkeelUser, "evenkeel-serve": evenkeelUser, "evenkeel-extender": extenderUser}
	rules := map[string][]rbacv1.PolicyRule{}
	for _, objects := range shippedObjects(t) {
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

// checkRights checks that no request of either ServiceAccount was denied for
// lack of permission since the mark.
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

// checkRightsAreUsed checks that the roles grant nothing unnecessary. It is for
// a run of both ServiceAccounts that did all of its work: leading, evicting and
// reporting.
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
