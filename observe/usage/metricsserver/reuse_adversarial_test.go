package metricsserver

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Items are decoded one after the other into the same memory. A value that is missing from an item
// is not taken from the previous one.
func TestItemsDoNotInheritFromTheOneBefore(t *testing.T) {
	full := pod("a", `{"cpu":"100m","memory":"1Mi"}`, `{"cpu":"200m","memory":"2Mi"}`)
	cases := map[string]string{
		"no containers":            `{"metadata":{"name":"b","namespace":"ns"},"timestamp":"2026-03-01T12:00:00Z"}`,
		"containers without usage": `{"metadata":{"name":"b","namespace":"ns"},"timestamp":"2026-03-01T12:00:00Z","containers":[{},{}]}`,
		"no memory":                pod("b", `{"cpu":"1m"}`, `{"cpu":"1m"}`),
		"an item of nothing":       `{}`,
	}
	for name, second := range cases {
		t.Run(name, func(t *testing.T) {
			source := newSource(t, &metricsAPI{nodes: nodeList(), pods: podList(full, second)})
			batch, err := source.Sample(t.Context(), &cluster.Snapshot{})
			if err != nil {
				t.Fatal(err)
			}
			if len(batch.Pods) != 1 || batch.Pods[0].Name != "a" || batch.Problems[usage.Unreadable].Count != 1 {
				t.Errorf("got %v, problems %v; want pod a alone and one problem", batch.Pods, batch.Problems)
			}
		})
	}
}

// Pods of several namespaces keep their namespaces, whatever their order.
func TestNamespacesAreKept(t *testing.T) {
	item := func(namespace string) string {
		return `{"metadata":{"name":"p","namespace":"` + namespace + `"},"timestamp":"2026-03-01T12:00:00Z","containers":[{"usage":{"cpu":"1m","memory":"1Mi"}}]}`
	}
	source := newSource(t, &metricsAPI{nodes: nodeList(), pods: podList(item("a"), item("a"), item("b"), item("a"))})
	batch, err := source.Sample(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range batch.Pods {
		got = append(got, batch.Pods[i].Namespace)
	}
	if diff := cmp.Diff([]string{"a", "a", "b", "a"}, got); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
}

// If a key occurs twice, the last one counts. A list with empty times is refused, because an
// unknown time must not pass for a real one.
func TestOddItems(t *testing.T) {
	const head = `{"metadata":{"name":"p","namespace":"ns"},"timestamp":"2026-03-01T12:00:00Z",`
	once := head + `"containers":[{"usage":{"cpu":"1","memory":"1Gi"}}]}`
	twice := head + `"containers":[{"usage":{"cpu":"9","memory":"9Gi"}}],"containers":[{"usage":{"cpu":"1","memory":"1Gi"}}]}`
	sample := func(item string) (usage.Batch, error) {
		return newSource(t, &metricsAPI{nodes: nodeList(), pods: podList(item)}).Sample(t.Context(), nil)
	}
	want, err := sample(once)
	if err != nil {
		t.Fatal(err)
	}
	got, err := sample(twice)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Pods, got.Pods); diff != "" {
		t.Errorf("containers given twice (-once +twice):\n%s", diff)
	}
	if _, err := sample(`{"metadata":{"name":"p"},"timestamp":""}`); err == nil {
		t.Error("a time that is empty was read")
	}
}
