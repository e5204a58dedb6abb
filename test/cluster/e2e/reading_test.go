package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// A sample of usage takes one LIST of nodes and one of pods, however many nodes there are. Nodes
// are never read one by one.
func TestUsageIsReadByTwoListsPerSample(t *testing.T) {
	const sampleInterval = 5 * time.Second // of stage.Fast
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 100, cluster.NodeTemplate{CPU: "8", Memory: "32Gi"})
	if err != nil {
		t.Fatal(err)
	}
	err = f.Place(t.Context(), cluster.Placement{
		Workload: stage.Workload("web", cluster.Resources{CPU: "100m", Memory: "1Gi"}, cluster.Resources{CPU: "1", Memory: "1Gi"}),
		On:       stage.On(1, nodes...),
	})
	if err != nil {
		t.Fatal(err)
	}
	mark, start := f.Mark(), time.Now()
	f.Serve(f.Policy(stage.RealUsage, stage.Fast))
	var listed map[string]int
	f.Eventually(2*time.Minute, "six samples read", func(context.Context) bool {
		listed = usageRequests(f, mark)
		return listed["list nodes"] >= 6
	})
	most := int(time.Since(start)/sampleInterval) + 2
	for request, n := range listed {
		switch {
		case request != "list nodes" && request != "list pods":
			t.Errorf("%d times %s of metrics.k8s.io, want none", n, request)
		case n > most:
			t.Errorf("%d times %s in %v, want at most %d", n, request, time.Since(start), most)
		}
	}
	if nodes, pods := listed["list nodes"], listed["list pods"]; pods < nodes-1 || pods > nodes+1 {
		t.Errorf("%d lists of nodes and %d of pods, want as many", nodes, pods)
	}
	t.Logf("%v in %v", listed, time.Since(start).Round(time.Second))
}

// usageRequests counts Evenkeel's requests to metrics.k8s.io since the mark, by verb and resource.
func usageRequests(f *fixture, mark cluster.AuditMark) map[string]int {
	f.T.Helper()
	requests, err := f.Audit(mark)
	if err != nil {
		f.T.Fatal(err)
	}
	count := map[string]int{}
	for _, r := range requests.By(evenkeelUser) {
		if r.Group == "metrics.k8s.io" {
			count[r.Verb+" "+r.Resource]++
		}
	}
	return count
}
