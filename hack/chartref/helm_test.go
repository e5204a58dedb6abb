package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// helm runs one of the project's commands that need bin/helm, and returns its output. It skips the
// test if bin/helm does not exist.
func helm(t *testing.T, command string, args ...string) []byte {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, "bin", "helm")); err != nil {
		t.Skip("left out: bin/helm is not there; `make chart-tools` makes it")
	}
	run := exec.CommandContext(t.Context(), command, args...)
	run.Dir = root
	var mistakes strings.Builder
	run.Stderr = &mistakes
	out, err := run.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, mistakes.String())
	}
	return out
}

// template renders a chart into a file, and returns its objects.
func template(t *testing.T, chart string, args ...string) []object {
	t.Helper()
	out := helm(t, "bin/helm", append([]string{"template", "evenkeel", chart, "--namespace", "keel", "--kube-version", "1.36.0"}, args...)...)
	return readObjects(t, write(t, "rendered.yaml", string(out)))
}

// The rendered chart that other tests read is up to date with the templates.
func TestRenderedChartIsUpToDate(t *testing.T) {
	target := t.TempDir()
	helm(t, "hack/render-chart.sh", target)
	for name := range sameAs {
		want, err := os.ReadFile(filepath.Join(target, name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(chart(root, "testdata", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: run `make update-chart` (-rendered +file)\n%s", name, diff)
		}
	}
}

// foreign are kinds that are not built into Kubernetes.
var foreign = []string{"CustomResourceDefinition", "Issuer", "Certificate", "ServiceMonitor", "PodMonitor", "PrometheusRule"}

// checkFields fails the test for a field that an object's kind does not have.
func checkFields(t *testing.T, all []object) {
	t.Helper()
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, one := range all {
		if slices.Contains(foreign, one.kind()) {
			continue
		}
		text, err := json.Marshal(one)
		if err == nil {
			_, _, err = decoder.Decode(text, nil, nil)
		}
		if err != nil {
			t.Errorf("%s %s: %v", one.kind(), one.name(), err)
		}
	}
}

// Kubernetes knows each field of the rendered chart, including hooks.
func TestRenderedFieldsAreKnown(t *testing.T) {
	for name := range sameAs {
		t.Run(name, func(t *testing.T) {
			checkFields(t, readObjects(t, chart(root, "testdata", name+".yaml")))
		})
	}
}

// The rendered objects also have only known fields, and are accepted, if every possible value is
// set.
func TestAllValuesAreAccepted(t *testing.T) {
	for name, args := range map[string][]string{
		"serve":    {"--set", "mode=serve,steering.by=extender"},
		"webhook":  {"--set", "mode=serve,steering.variant=webhook,certificates.ca=PEM"},
		"cronjob":  {"--set", "mode=cronjob,steering.by=extender"},
		"nodesync": {"--set", "mode=nodesync,replicas=1,nodesync.prometheus=http://prometheus:9090"},
	} {
		t.Run(name, func(t *testing.T) {
			all := template(t, "charts/evenkeel", append([]string{"--values", "hack/chartref/testdata/everything.yaml"}, args...)...)
			checkFields(t, all)
			wantAccepted(t, all)
			for _, one := range all {
				if namespace := one.at("metadata", "namespace"); namespace != nil && namespace != "keel" && namespace != "evenkeel-probe" {
					t.Errorf("%s %s is in the namespace %v", one.kind(), one.name(), namespace)
				}
			}
		})
	}
}

// wantText fails the test if a namespace below a value is not text.
func wantText(t *testing.T, where string, value any) {
	t.Helper()
	switch is := value.(type) {
	case map[string]any:
		for key, of := range is {
			if _, text := of.(string); key == "namespace" && !text {
				t.Errorf("%s: the namespace %v is a %T", where, of, of)
			}
			wantText(t, where, of)
		}
	case []any:
		for _, of := range is {
			wantText(t, where, of)
		}
	}
}

// A namespace whose name is a number stays text wherever it is used.
func TestNamespaceOfDigitsIsText(t *testing.T) {
	files, err := filepath.Glob(chart(root, "ci", "*-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			version := "1.36.0"
			if strings.HasPrefix(filepath.Base(file), "serve-webhook") {
				version = "1.35.0"
			}
			all := template(t, "charts/evenkeel", "--namespace", "123", "--kube-version", version, "--values", "charts/evenkeel/ci/"+filepath.Base(file),
				"--set", "metrics.prometheusRule.enabled=true,metrics.dashboard.enabled=true,resourceQuota.enabled=true")
			checkFields(t, all)
			for _, one := range all {
				wantText(t, one.kind()+" "+one.name(), map[string]any(one))
			}
		})
	}
}

// If one release evicts and another runs nodesync, each in its own namespace, they have no object
// in common. Only hooks have the same names, and these run one after the other, when a release is
// uninstalled.
func TestTwoReleasesHaveNothingInCommon(t *testing.T) {
	policy := []string{"--set", "policy.nodesync.taint.enabled=true,policy.usage.sources[0].type=Kubelet,metrics.prometheusRule.enabled=true,metrics.dashboard.enabled=true"}
	mine := map[string]bool{}
	of := func(release, mode string) (all []string) {
		for _, one := range template(t, "charts/evenkeel", append(policy, "--namespace", release, "--set", "mode="+mode, "--no-hooks")...) {
			namespace, _ := one.at("metadata", "namespace").(string)
			all = append(all, fmt.Sprintf("%s %s/%s", one.kind(), namespace, one.name()))
		}
		return all
	}
	for _, one := range of("evicts", "serve") {
		mine[one] = true
	}
	both := of("marks", "nodesync")
	if len(both) < 10 || len(mine) < 10 {
		t.Fatalf("%d and %d objects are rendered", len(mine), len(both))
	}
	if both = slices.DeleteFunc(both, func(one string) bool { return !mine[one] }); len(both) > 0 {
		t.Errorf("both releases make %q", both)
	}
}

// Alerts and the dashboard are copied unchanged from the chart's files, because what looks like a
// template expression in them belongs to Prometheus or Grafana. Without the files, neither is
// rendered.
func TestAlertsAndDashboardAreTakenFromFiles(t *testing.T) {
	copied := filepath.Join(t.TempDir(), "evenkeel")
	if err := os.CopyFS(copied, os.DirFS(chart(root))); err != nil {
		t.Fatal(err)
	}
	files := filepath.Join(copied, "files")
	if err := os.RemoveAll(files); err != nil {
		t.Fatal(err)
	}
	read := func() map[string]object {
		found := map[string]object{}
		for _, one := range template(t, copied, "--set", "metrics.prometheusRule.enabled=true,metrics.dashboard.enabled=true") {
			if one.kind() == "PrometheusRule" || one.name() == "evenkeel-dashboard" {
				found[one.kind()] = one
			}
		}
		return found
	}
	if found := read(); len(found) > 0 {
		t.Errorf("without files there is %v", found)
	}

	const rules = "groups:\n- name: a\n  rules:\n  - alert: B\n    annotations: {summary: 'of {{ $labels.job }}'}\n"
	const dashboard = `{"title": "{{ a }}", "panels": []}`
	for name, text := range map[string]string{"alerts.yaml": rules, "dashboard.json": dashboard} {
		if err := os.MkdirAll(files, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(files, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := read()
	var want any
	if err := yaml.Unmarshal([]byte(rules), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, found["PrometheusRule"].at("spec")); diff != "" {
		t.Errorf("rules (-file +rendered)\n%s", diff)
	}
	shown := into[v1.ConfigMap](t, found["ConfigMap"])
	if diff := cmp.Diff(dashboard, strings.TrimSpace(shown.Data["evenkeel.json"])); diff != "" {
		t.Errorf("dashboard (-file +rendered)\n%s", diff)
	}
	if shown.Labels["grafana_dashboard"] != "1" {
		t.Errorf("Grafana's sidecar finds no label: %v", shown.Labels)
	}
}
