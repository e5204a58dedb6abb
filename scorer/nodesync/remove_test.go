package nodesync

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/observe/usage"
)

func TestRemoveRemovesOnlyOurs(t *testing.T) {
	foreign := v1.Taint{Key: "disk", Effect: v1.TaintEffectNoSchedule}
	a := newAPI(t,
		v1Node("a", labelled("disk", "ssd"), func(n *v1.Node) {
			n.Spec.Taints = []v1.Taint{foreign}
			n.Annotations = map[string]string{"mem_usage_avg_5m": "0.70000,2026-11-21T19:58:00Z"}
		}),
		v1Node("bare"),
		v1Node("taken", func(n *v1.Node) {
			n.Labels = map[string]string{"status": "mine"}
			n.Annotations = map[string]string{RecordKey: `{"labels":{"status":"presure"}}`}
		}),
		v1Node("torn", func(n *v1.Node) {
			n.Labels = map[string]string{"status": "presure"}
			n.Annotations = map[string]string{RecordKey: `{"labels":`}
		}),
	)
	nodes := a.state(t, func(o Object) Node { return hot(measured(o, noon, usage.Avg5m)) })
	only := func() []Node { return nodes()[:1] }
	if err := newSyncer(t, a, everything(), only).pass(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := a.node(t, "a"); got.Labels["status"] == "" || len(got.Spec.Taints) != 2 || len(got.Annotations) != 3 {
		t.Fatalf("nothing to remove: %v %v %v", got.Labels, got.Spec.Taints, got.Annotations)
	}
	want := Report{Nodes: 3, Annotations: 1, Labels: 1, Taints: 1, Corrupt: []string{"torn"}}
	patches := len(a.patches)
	found, err := Find(t.Context(), a)
	if diff := cmp.Diff(want, found); diff != "" || err != nil || len(a.patches) != patches {
		t.Errorf("found (-want +got):\n%s, %v, and %d patches", diff, err, len(a.patches)-patches)
	}
	report, err := Remove(t.Context(), a)
	if diff := cmp.Diff(want, report); diff != "" || err != nil {
		t.Errorf("report (-want +got):\n%s, %v", diff, err)
	}
	got := a.node(t, "a")
	if diff := cmp.Diff(map[string]string{"disk": "ssd"}, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]v1.Taint{foreign}, got.Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"mem_usage_avg_5m": "0.70000,2026-11-21T19:58:00Z"}, got.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if a.node(t, "taken").Labels["status"] != "mine" || a.node(t, "torn").Labels["status"] != "presure" {
		t.Error("what is not certainly ours is removed")
	}
	a.patches = nil
	if report, err := Remove(t.Context(), a); err != nil || report.Nodes != 0 || len(a.patches) != 0 {
		t.Errorf("again: %+v, %v, %d patches", report, err, len(a.patches))
	}
}

func TestRemoveReportsWhatFailed(t *testing.T) {
	recorded := func(n *v1.Node) { n.Annotations = map[string]string{RecordKey: `{"labels":{"status":"presure"}}`} }
	a := newAPI(t, v1Node("a", recorded), v1Node("b", recorded), v1Node("c", recorded))
	a.before = func(name string) error {
		switch name {
		case "a":
			return errors.New("connection refused")
		case "b":
			return a.change(name, labelled("busy", "yes"))
		}
		return nil
	}
	report, err := Remove(t.Context(), a)
	if err == nil || report.Nodes != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}
