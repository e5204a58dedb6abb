// Package rig tests the local control plane itself, without Evenkeel.
package rig

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// start builds and starts a cluster for one test.
func start(t *testing.T, options cluster.Options) *cluster.Cluster {
	t.Helper()
	return startWith(t.Context(), t, options)
}

func startWith(ctx context.Context, t *testing.T, options cluster.Options) *cluster.Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a whole cluster")
	}
	binDir, err := cluster.DefaultBinDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Build(t.Context(), binDir, os.Stderr); err != nil {
		t.Fatal(err)
	}
	options.BinDir = binDir
	begin := time.Now()
	c, err := cluster.Start(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		begin := time.Now()
		if err := c.Stop(); err != nil {
			t.Errorf("Stop: %v", err)
		}
		t.Logf("stopped in %s", time.Since(begin).Round(time.Millisecond))
	})
	t.Logf("control plane up in %s", time.Since(begin).Round(time.Millisecond))
	return c
}

// A cluster starts, request-skew is placed exactly, and metrics-server measures the pods' usage.
// Reset leaves nothing, so that the next case finds the same conditions.
func TestRequestSkewStandsOnARealCluster(t *testing.T) {
	c := start(t, cluster.Options{StateDir: filepath.Join(t.TempDir(), "state")})
	ctx := t.Context()

	begin := time.Now()
	story, err := scenario.RequestSkew(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("nodes added and pods placed in %s", time.Since(begin).Round(time.Millisecond))
	checkUsage(t, story, "true", 0.1, func() (map[string]cluster.NodeLoad, error) { return c.NodeUsage(ctx) })

	begin = time.Now()
	if err := c.WaitMetrics(ctx); err != nil {
		t.Fatal(err)
	}
	t.Logf("metrics present after %s", time.Since(begin).Round(time.Millisecond))
	checkUsage(t, story, "measured", 1.5, func() (map[string]cluster.NodeLoad, error) { return c.MeasuredUsage(ctx) })

	reset(t, c)
	// The case is repeated. Nothing of the first one may be left, neither on the API server nor in
	// a part's memory.
	if _, err := scenario.RequestSkew(ctx, c); err != nil {
		t.Fatal(err)
	}
	checkUsage(t, story, "true", 0.1, func() (map[string]cluster.NodeLoad, error) { return c.NodeUsage(ctx) })
	reset(t, c, "shop")
}

func reset(t *testing.T, c *cluster.Cluster, keep ...string) {
	t.Helper()
	begin := time.Now()
	if err := c.Reset(t.Context(), keep...); err != nil {
		t.Fatal(err)
	}
	t.Logf("reset in %s, keeping namespaces %v", time.Since(begin).Round(time.Millisecond), keep)
	pods, err := c.Client().CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 0 {
		t.Errorf("%d pods after Reset, want none", len(pods.Items))
	}
}

// settleTime bounds the time until measured usage is right. Measured usage is a rate between two
// readings, one of which may be late on a busy machine.
const settleTime = 45 * time.Second

// checkUsage checks that each node's usage equals the story's, at once or, if the usage is
// measured, after a while.
func checkUsage(t *testing.T, story *scenario.Story, kind string, tolerance float64, read func() (map[string]cluster.NodeLoad, error)) {
	t.Helper()
	for until := time.Now().Add(settleTime); ; time.Sleep(time.Second) {
		loads, err := read()
		if err != nil {
			t.Fatal(err)
		}
		wrong := wrongUsage(story, tolerance, loads)
		if wrong == "" {
			return
		}
		if kind != "measured" || time.Now().After(until) {
			t.Errorf("%s usage: %s", kind, wrong)
			return
		}
	}
}

// wrongUsage describes how nodes' usage deviates from the story; empty if it does not.
func wrongUsage(story *scenario.Story, tolerance float64, loads map[string]cluster.NodeLoad) string {
	if len(loads) != len(story.Nodes) {
		return fmt.Sprintf("that of %d nodes, want %d", len(loads), len(story.Nodes))
	}
	for i, node := range story.Nodes {
		want := story.CoolPercent
		if i < len(story.Hot) {
			want = story.HotPercent
		}
		if got := loads[node].CPUPercent; math.Abs(got-want) > tolerance {
			return fmt.Sprintf("CPU of %s is %.1f %%, want %.1f ± %.1f", node, got, want, tolerance)
		}
	}
	return ""
}
