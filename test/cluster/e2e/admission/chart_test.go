package admission

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// helm installs the chart with its defaults. The command of its Deployment moves pods to their
// planned nodes with only the chart's rights. Another variant replaces it and is replaced again,
// and uninstalling leaves nothing.
//
//e2e:tier all
func TestChart(t *testing.T) {
	f, story := untouched(t)
	h := newHelm(t, f)
	before := h.inventory()
	h.run("install", "evenkeel", h.chart, "--create-namespace", "--set", "replicas=0,deschedulingInterval=3s",
		"--set-file", "policyFile="+f.Policy(stage.RealUsage, stage.Fast))
	mark := f.Mark()
	stop := h.start(f, "evenkeel")
	o := asShipped(t, f)
	cooled(t, f, o, story)
	onPlan(t, f, story, mark)
	h.checkRights(f, mark, "evenkeel")

	byGate, patchPods := h.grants("evenkeel"), stage.Right{Verb: "patch", Resource: "pods"}
	h.run("upgrade", "evenkeel", h.chart, "--reuse-values", "--set", "steering.variant=names")
	if byNames := h.grants("evenkeel"); slices.Contains(byNames, patchPods) || !slices.Contains(byGate, patchPods) {
		t.Errorf("by names it may %v, by the gate %v", byNames, byGate)
	}
	h.run("rollback", "evenkeel", "1")
	if diff := cmp.Diff(byGate, h.grants("evenkeel")); diff != "" {
		t.Errorf("rights after the rollback (-want +got):\n%s", diff)
	}

	stop()
	h.uninstall(f)
	h.leavesNothing(before)
}

// The API server accepts every object of the chart as helm renders it for this release, for each
// mode and way of steering. If the API server does not support MutatingAdmissionPolicies, the chart
// refuses values that need one. Kinds that belong to operators are left out, because these are not
// installed.
//
//e2e:tier all
func TestChartIsAccepted(t *testing.T) {
	c := stage.Cluster()
	if err := c.Reset(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	h := newHelm(t, &stage.Fixture{Cluster: c, T: t})
	values, err := filepath.Glob(filepath.Join(h.chart, "ci", "*-values.yaml"))
	if err != nil || len(values) < 8 {
		t.Fatalf("%d files of values, %v", len(values), err)
	}
	for _, namespace := range []string{evenkeel.Namespace, probes} { // the namespaces of the objects below
		object := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if _, err := c.Client().CoreV1().Namespaces().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	version, err := c.Client().Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	bySelf, accepted := h.steersItself(), 0
	for _, file := range values {
		var complaint strings.Builder
		command := h.command(t.Context(), "template", "evenkeel", h.chart, "--kube-version", version.GitVersion, "--values", file)
		command.Stderr = &complaint
		out, err := command.Output()
		refused := err != nil && strings.Contains(complaint.String(), "needs Kubernetes 1.36, this is "+version.GitVersion)
		switch {
		case refused && !bySelf:
			t.Logf("%s is refused: %s", filepath.Base(file), &complaint)
		case err != nil:
			t.Errorf("%s: %v\n%s", filepath.Base(file), err, &complaint)
		default:
			h.accepts(filepath.Base(file), string(out))
			accepted++
		}
	}
	want := len(values)
	if !bySelf {
		want = 5 // the values of extender and nodesync, and serve-webhook, need no MutatingAdmissionPolicy
	}
	if accepted < want {
		t.Errorf("%d of %d files of values are rendered for %s, want %d", accepted, len(values), version.GitVersion, want)
	}
	t.Logf("figures: %s accepts the chart with %d of %d files of values", version.GitVersion, accepted, len(values))
}

// steersItself reports whether the API server supports
// MutatingAdmissionPolicies.
func (h *helm) steersItself() bool {
	h.t.Helper()
	list, err := h.c.Client().Discovery().ServerResourcesForGroupVersion("admissionregistration.k8s.io/v1")
	if err != nil {
		h.t.Fatal(err)
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Kind == "MutatingAdmissionPolicy" })
}

// accepts checks that the API server accepts the rendered objects.
func (h *helm) accepts(name, rendered string) {
	h.t.Helper()
	operators := []string{"cert-manager.io/v1", "monitoring.coreos.com/v1"}
	var known []string
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		if !slices.ContainsFunc(operators, func(group string) bool { return strings.Contains("\n"+document, "\napiVersion: "+group+"\n") }) {
			known = append(known, document)
		}
	}
	manifest := filepath.Join(h.t.TempDir(), name)
	if err := os.WriteFile(manifest, []byte(strings.Join(known, "\n---\n")), 0o600); err != nil {
		h.t.Fatal(err)
	}
	if err := evenkeel.Apply(h.t.Context(), h.c, manifest, true); err != nil {
		h.t.Errorf("%s: %v", name, err)
	}
}

// untouched is the request-skew story on a cluster that contains nothing of Evenkeel, with a
// default kube-scheduler.
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
	// A Job decides on few samples, and the first of them may be far too high.
	f.Eventually(time.Minute, "the hot nodes to be measured as they are", func(ctx context.Context) bool {
		measured, err := f.MeasuredUsage(ctx)
		return err == nil && !slices.ContainsFunc(story.Hot, func(node string) bool {
			return math.Abs(measured[node].CPUPercent-story.HotPercent) > 3
		})
	})
	return f, story
}
