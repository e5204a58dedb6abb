package manifests

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// Each shipped container sets its resources, has a read-only root filesystem and reads the mounted
// policy. Containers that keep running have probes.
func TestContainersAreWellBehaved(t *testing.T) {
	for name, template := range Templates(t) {
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

// checkMounts checks that the files on the command line exist in the ConfigMap and the Secret. Only
// a process that answers kube-scheduler needs the Secret.
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

// checkSchedulerMounts checks that the second scheduler finds its configuration and the policy that
// it names.
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
	if err := yaml.UnmarshalStrict(Read(t, filepath.Join(Dir(t), "overlays", "second-scheduler", "config.yaml")), &shipped); err != nil {
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

// checkFlags runs the binary with the shipped arguments, as far as that is possible without the
// mounted file, to check that it knows all flags.
func checkFlags(t *testing.T, args []string) {
	t.Helper()
	stderr, _ := run(t, args...)
	if !strings.Contains(stderr, "reading the policy: open /etc/evenkeel/policy.yaml") {
		t.Errorf("evenkeel %s: %s", strings.Join(args, " "), stderr)
	}
}

// The shipped ConfigMap contains policy.yaml verbatim.
func TestShippedConfigMapHoldsThePolicy(t *testing.T) {
	dir := Dir(t)
	var shipped v1.ConfigMap
	if err := yaml.UnmarshalStrict(Read(t, filepath.Join(dir, "base", "policy-configmap.yaml")), &shipped); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"policy.yaml": string(Read(t, filepath.Join(dir, "..", "policy.yaml")))}
	if diff := cmp.Diff(want, shipped.Data); diff != "" {
		t.Errorf("run make update-deploy (-policy.yaml +ConfigMap):\n%s", diff)
	}
}

// The files that kustomizations name exist, and every shipped file is named by a kustomization.
func TestKustomizationsAreComplete(t *testing.T) {
	dir := Dir(t)
	named := map[string]bool{"kube-scheduler.yaml": true} // for the control plane, not for kustomize
	for _, file := range Files(t, dir) {
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
				Path   string                      `json:"path"`
			} `json:"patches"`
		}
		if err := yaml.UnmarshalStrict(Read(t, filepath.Join(dir, file)), &k); err != nil {
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
		for _, patch := range k.Patches {
			if patch.Path != "" {
				named[filepath.Join(filepath.Dir(file), patch.Path)] = true
			}
		}
	}
	for _, file := range Files(t, dir) {
		if !named[file] {
			t.Errorf("no kustomization names %s", file)
		}
	}
}

// kube-scheduler accepts the shipped configuration, which these tests and the demo use as well.
func TestShippedSchedulerConfiguration(t *testing.T) {
	content := Read(t, filepath.Join(Dir(t), "kube-scheduler.yaml"))
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

// binary compiles evenkeel to the path that end-to-end tests use, so that it is linked only if
// something has changed.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := cluster.DefaultBinDir(context.Background())
	if err != nil {
		return "", err
	}
	return evenkeel.Build(context.Background(), dir)
})

// run runs evenkeel to its end in an empty folder, isolated from the machine's configuration.
func run(t *testing.T, args ...string) (stderr string, err error) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	command := exec.CommandContext(t.Context(), path, args...)
	command.Dir, command.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	var said bytes.Buffer
	command.Stderr = &said
	err = command.Run()
	return said.String(), err
}
