package arch

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// Each overlay with a long-running process has a NetworkPolicy for its pods that lists each of
// their ports and who may connect. Everybody may connect to kube-scheduler's port, which requires
// certificates. Only those whom the API server authorizes get metrics.
func TestShippedPortsAreGuarded(t *testing.T) {
	deployments, policies := shippedPorts(t)
	if len(deployments) < 4 {
		t.Errorf("%d Deployments were found", len(deployments))
	}
	for overlay, deployment := range deployments {
		container := deployment.Spec.Template.Spec.Containers[0]
		if ours := container.Name == "evenkeel"; ours && !slices.Contains(container.Args, "--metrics-access=authorized") {
			t.Errorf("%s: everybody reads its metrics", overlay)
		}
		guard := policies[overlay]
		if guard == nil {
			t.Errorf("%s: it has no NetworkPolicy", overlay)
			continue
		}
		pods := labels.SelectorFromSet(guard.Spec.PodSelector.MatchLabels)
		if guard.Namespace != deployment.Namespace || pods.Empty() || !pods.Matches(labels.Set(deployment.Spec.Template.Labels)) {
			t.Errorf("%s: its NetworkPolicy does not hold its pods", overlay)
		}
		var want, got []string
		for _, port := range container.Ports {
			want = append(want, port.Name)
		}
		for _, rule := range guard.Spec.Ingress {
			for _, port := range rule.Ports {
				got = append(got, port.Port.String())
				if len(rule.From) == 0 && (port.Port.String() != "extender" || !strings.Contains(strings.Join(container.Args, " "), "--client-ca-file=")) {
					t.Errorf("%s: whoever likes reaches %s", overlay, port.Port)
				}
			}
		}
		slices.Sort(want)
		if slices.Sort(got); !slices.Equal(want, got) {
			t.Errorf("%s: ports %q, its NetworkPolicy has %q", overlay, want, got)
		}
	}
}

// shippedPorts returns the Deployment and the NetworkPolicy of each overlay.
func shippedPorts(t *testing.T) (map[string]*appsv1.Deployment, map[string]*networkingv1.NetworkPolicy) {
	t.Helper()
	deployments, policies := map[string]*appsv1.Deployment{}, map[string]*networkingv1.NetworkPolicy{}
	overlays := filepath.Join(root, "deploy", "overlays")
	err := filepath.WalkDir(overlays, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		overlay := filepath.Base(filepath.Dir(path))
		for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
			switch {
			case bytes.Contains(document, []byte("\nkind: Deployment\n")):
				deployments[overlay] = &appsv1.Deployment{}
				err = yaml.UnmarshalStrict(document, deployments[overlay])
			case bytes.Contains(document, []byte("\nkind: NetworkPolicy\n")):
				policies[overlay] = &networkingv1.NetworkPolicy{}
				err = yaml.UnmarshalStrict(document, policies[overlay])
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return deployments, policies
}
