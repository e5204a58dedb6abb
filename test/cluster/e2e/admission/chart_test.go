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
	stop := h.start(f, "evenkeel")
	o := asShipped(t, f)
	cooled(t, f, o, story)
	onPlan(t, f, story, mark)
	h.checkRights(f, mark, "evenkeel")

	byGate, patchPods := h.grants("evenkeel"), right{"patch", "", "pods"}
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
	// A Job decides by few samples, of which the first may be far too high.
	f.Eventually(time.Minute, "the hot nodes to be measured as they are", func(ctx context.Context) bool {
		measured, err := f.MeasuredUsage(ctx)
		return err == nil && !slices.ContainsFunc(story.Hot, func(node string) bool {
			return math.Abs(measured[node].CPUPercent-story.HotPercent) > 3
		})
	})
	return f, story
}
