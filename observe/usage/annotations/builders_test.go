package annotations

import (
	"fmt"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// noon is the current time in these tests.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const gib = 1 << 30

// node returns a record with 10 cores and 100 GiB, so that 10 % is 1000 milli-cores and 10 GiB.
func node(name string, annotations map[string]string) *cluster.NodePods {
	return &cluster.NodePods{Node: cluster.Node{
		Name: name, Capacity: cluster.Amounts{cluster.CPU: 10_000, cluster.Memory: 100 * gib}, UsageAnnotations: annotations,
	}}
}

func snapshot(nodes ...*cluster.NodePods) *cluster.Snapshot { return &cluster.Snapshot{Nodes: nodes} }

// alike returns n nodes with one annotation each.
func alike(n int, prefix, key, value string) []*cluster.NodePods {
	var nodes []*cluster.NodePods
	for i := range n {
		nodes = append(nodes, node(fmt.Sprintf("%s%03d", prefix, i), map[string]string{key: value}))
	}
	return nodes
}

func newSource(t *testing.T, config Config) *Source {
	t.Helper()
	if config.Periods == nil {
		config.Periods = source.Periods()
	}
	s := config.source(func() time.Time { return noon })
	// This makes the tests independent of the local time zone.
	s.zones.candidates = []*time.Location{time.UTC, shanghai}
	return s
}

func sample(t *testing.T, s *Source, nodes ...*cluster.NodePods) usage.Batch {
	t.Helper()
	batch, err := s.Sample(t.Context(), snapshot(nodes...))
	if err != nil {
		t.Fatalf("Sample: %v", err)
	}
	return batch
}

// counts returns the counts of problems without their examples.
func counts(problems usage.Problems) map[usage.Cause]int {
	found := map[usage.Cause]int{}
	for cause, problem := range problems {
		found[cause] = problem.Count
	}
	return found
}

// readings counts the readings of a batch.
func readings(batch usage.Batch) int {
	n := 0
	for _, node := range batch.Nodes {
		n += len(node.Readings)
	}
	return n
}

func stamp(text string) time.Time {
	at, err := time.Parse("15:04:05", text)
	if err != nil {
		return time.Time{}
	}
	return time.Date(2026, 11, 21, at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
}
