package sources

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// shippedPolicy is policy.yaml as shipped, except that owners, nodes and pods count as settled when
// they are a minute old. Otherwise their age would protect them, and the windows would not be
// tested.
func shippedPolicy(t *testing.T) string {
	t.Helper()
	root, err := evenkeel.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for _, settle := range []string{"ownerSettle: ", "startup: "} {
		if !strings.Contains(text, settle+"3m") {
			t.Fatalf("policy.yaml has no %q", settle+"3m")
		}
		text = strings.Replace(text, settle+"3m", settle+"0s", 1)
	}
	return text
}

// With the shipped policy, a spike of 50 s evicts nothing, neither in a loop nor in a Job that
// starts 35 s into it. If the same load lasts, both act on it.
//
//	node-00, node-01: 20 burst × 800m = 16 of 32 cores = 50 %; four times that for 50 s makes the mean of five minutes
//	                  50 % × (1 + 3 × 50/300) = 75 %, above the evict line of 65 %: the mean alone would be fooled.
//	if it lasts:      double, 100 %, so that pods of 1600m have somewhere to go: 7 from each node
//	node-02..node-05: 10 calm × 500m = 5 of 32 cores = 16 %
//
//e2e:tier all
func TestSpikeEvictsNothing(t *testing.T) {
	f := stage.New(t)
	nodes, err := f.AddNodes(t.Context(), 6, cluster.NodeTemplate{CPU: "32", Memory: "256Gi"})
	if err != nil {
		t.Fatal(err)
	}
	burst := stage.Workload("burst", cluster.Resources{CPU: "100m", Memory: "64Mi"}, cluster.Resources{CPU: "800m", Memory: "64Mi"})
	calm := stage.Workload("calm", cluster.Resources{CPU: "500m", Memory: "64Mi"}, cluster.Resources{CPU: "500m", Memory: "64Mi"})
	err = f.Place(t.Context(),
		cluster.Placement{Workload: burst, On: stage.On(20, nodes[:2]...)},
		cluster.Placement{Workload: calm, On: stage.On(10, nodes[2:]...)})
	if err != nil {
		t.Fatal(err)
	}
	mark, policy := f.Mark(), f.Policy(shippedPolicy(t))
	f.Serve(policy)
	wait(t, 75*time.Second) // the loop has seen the calm before the spike, if only for part of its window

	undo, err := scenario.Spike(t.Context(), f.Cluster, "shop", "burst", 4)
	if err != nil {
		t.Fatal(err)
	}
	wait(t, 35*time.Second)
	job := f.Start("run", "--policy-config-file", policy, "--leader-elect=false", "--metrics-address", "0", "--extender-url", "http://"+stage.Listen())
	wait(t, 15*time.Second)
	if err := undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code, err := job.Wait(t.Context()); err != nil || code != 0 {
		t.Fatalf("the Job ended with code %d, %v\n%s", code, err, job.Log())
	}
	wait(t, 30*time.Second) // the loop's mean stays high for a long time
	if n := f.Evictions(mark); n != 0 {
		t.Fatalf("%d evictions for a spike of 50 s", n)
	}
	if !strings.Contains(job.Log(), `"Planned" profile="evenkeel" moves=0`) {
		t.Errorf("the Job has not planned, so it proves nothing\n%s", job.Log())
	}

	if _, err := scenario.Spike(t.Context(), f.Cluster, "shop", "burst", 2); err != nil {
		t.Fatal(err)
	}
	wait(t, 15*time.Second)
	dry := f.Start("run", "--policy-config-file", policy, "--dry-run", "--metrics-address", "0")
	if code, err := dry.Wait(t.Context()); err != nil || code != 0 {
		t.Fatalf("the second Job ended with code %d, %v\n%s", code, err, dry.Log())
	}
	// If the loop was faster, its moves are settling, and the Job reports that it would have acted.
	acts := fmt.Sprintf(`"Node judged" profile="evenkeel" node=%q state="hot"`, nodes[0])
	if f.Evictions(mark) == 0 {
		acts = `"Would evict pod"`
	}
	if !strings.Contains(dry.Log(), acts) {
		t.Errorf("a Job does nothing about load that is kept up: no %s in\n%s", acts, dry.Log())
	}
	f.Eventually(12*time.Minute, "the loop to cool the nodes whose load is kept up", func(ctx context.Context) bool {
		return f.Evictions(mark) > 0 && len(f.Hot(ctx, 65)) == 0
	})
	t.Logf("evictions: 0 for the spike, %d for the same load kept up", f.Evictions(mark))
}

// wait lets the cluster work on its own for a while.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-t.Context().Done():
		t.Fatal("the case was stopped")
	case <-timer.C:
	}
}
