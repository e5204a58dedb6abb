package realusage

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/placement"
)

// labelNodes adds a label to the nodes, both in the objects and in the records.
func (y *yard) labelNodes(t *testing.T, key string, values ...string) {
	t.Helper()
	var all []*v1.Pod
	for i, value := range values {
		y.nodes[i].Labels[key] = value
		y.observed.View.Snapshot.Nodes[i].Node.Labels = map[string]string{key: value}
		all = append(all, y.pods[y.nodes[i].Name]...)
	}
	filters, err := placement.New(t.Context(), placement.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := filters.Sync(y.nodes, all); err != nil {
		t.Fatal(err)
	}
	y.build(t, filters)
}

// Of two equally cool nodes, the pod goes to the one that can run it, although the other comes
// first.
func TestMovesStayOnThePlatform(t *testing.T) {
	for key, values := range map[string][]string{
		v1.LabelArchStable:        {"amd64", "arm64", "amd64"},
		"beta.kubernetes.io/arch": {"amd64", "arm64", "amd64"},
		v1.LabelOSStable:          {"linux", "windows", "linux"},
	} {
		y := newYard(t)
		y.labelNodes(t, key, values...)
		moves := y.study(t, 0, 2).Made.Plan.Moves
		if len(moves) != 1 || moves[0].To != "node-00002" {
			t.Errorf("%s: planned %+v, want one move to node-00002", key, moves)
		}
	}
	y := newYard(t, func(p *v1.Pod) { p.Spec.OS = &v1.PodOS{Name: v1.Linux} })
	y.labelNodes(t, v1.LabelOSStable, "linux", "windows", "windows")
	for _, m := range y.study(t, 0, 2).Made.Plan.Moves {
		t.Errorf("%s is moved from Linux to %s, which runs Windows", m.Name, m.To)
	}
}
