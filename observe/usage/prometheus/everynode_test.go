package prometheus

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// If a source has only custom queries, each is sent as one query, and nodes without a series are
// reported as well.
func TestQueriesOfOnesOwn(t *testing.T) {
	const busy = usage.Metric("disk.busy")
	server := newFake(t, map[string]string{"max by (instance)": vectorOf(of("97", "instance", "n2"))})
	config := configFor(server.URL)
	config.Windows, config.Metrics = []usage.Window{usage.Last}, []usage.Metric{busy}
	config.NodesOnly, config.EveryNode, config.NodeLabel = true, true, "instance"
	config.Queries.Nodes = map[usage.Metric]Query{busy: {Expr: "max by (instance) (x > 90)"}}
	want := []usage.NodeSample{
		{Name: "n1"},
		{Name: "n2", Readings: []usage.Reading{{Metric: busy, Window: usage.Last, At: epoch(), Value: 97}}},
	}
	if diff := cmp.Diff(want, sample(t, newSource(t, config), clusterOf(2)).Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"max by (instance) (x > 90)"}, server.queries()); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
	config.EveryNode = false
	if got := sample(t, newSource(t, config), clusterOf(2)).Nodes; len(got) != 1 || got[0].Name != "n2" {
		t.Errorf("problems about %v, want only n2", got)
	}
}
