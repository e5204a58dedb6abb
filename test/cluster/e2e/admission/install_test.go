package admission

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// This case follows the first way to install in README, as rendered by kubectl. The API server
// accepts the objects, the command runs with the rights in them, and replacements land as planned.
//
//e2e:tier all
func TestInstallWithoutExtender(t *testing.T) {
	f, o, story := nobodyAsks(t, "admission-steering")
	root, err := evenkeel.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	objects, deployment := rendered(t, root, "admission")
	if err := evenkeel.Apply(t.Context(), f.Cluster, objects, false); err != nil {
		t.Fatal(err)
	}
	// No kubelet would run the Deployment here, so the test runs its command.
	if _, err := f.Client().AppsV1().Deployments(evenkeel.Namespace).Create(t.Context(), deployment, dryRun); err != nil {
		t.Fatal(err)
	}
	shipped := deployment.Spec.Template.Spec.Containers[0]
	mark := f.Mark()
	places := strings.NewReplacer("/etc/evenkeel/policy.yaml", f.Policy(stage.RealUsage, stage.Fast), "127.0.0.1:8443", stage.Listen())
	var args []string
	for _, arg := range shipped.Args[1:] {
		args = append(args, places.Replace(arg))
	}
	process := f.Start(shipped.Args[0], append(args, "--descheduling-interval", "3s", "--leader-elect=false", "--metrics-address", "0")...)
	if err := process.WaitServing(t.Context(), "http://"+stage.Listen()+"/livez"); err != nil {
		t.Fatal(err)
	}
	cooled(t, f, o, story)
	onPlan(t, f, story, mark)
}

// rendered writes to a file what kubectl apply -k would apply from a checkout, except the
// Deployment, which it returns.
func rendered(t *testing.T, root, overlay string) (file string, deployment *appsv1.Deployment) {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "deploy", "overlays", overlay))
	if err != nil {
		t.Fatal(err)
	}
	var others []byte
	for _, object := range built.Resources() {
		content, err := object.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		if object.GetKind() != "Deployment" {
			others = append(append(others, "---\n"...), content...)
			continue
		}
		deployment = &appsv1.Deployment{}
		if err := yaml.UnmarshalStrict(content, deployment); err != nil {
			t.Fatal(err)
		}
	}
	if deployment == nil {
		t.Fatalf("overlay %s has no Deployment", overlay)
	}
	file = filepath.Join(t.TempDir(), overlay+".yaml")
	if err := os.WriteFile(file, others, 0o600); err != nil {
		t.Fatal(err)
	}
	return file, deployment
}
