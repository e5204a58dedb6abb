package stage

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/kubelets"
	"github.com/evenkeel/evenkeel/test/cluster/lane"
)

// MainWithKubelets is like Main, for cases with real kubelets. It runs the cases in a
// separate site. On a machine that cannot have one, each case is skipped.
func MainWithKubelets(ctx context.Context, m *testing.M) int {
	if kubelets.Inside() {
		flag.Parse()
		return run(ctx, m, cluster.Options{RealKubelets: true})
	}
	if kubelets.Unable() != nil {
		flag.Parse()
		return serve(ctx, m)
	}
	code, err := enter(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// enter runs this test binary inside a new site.
func enter(ctx context.Context) (code int, err error) {
	binDir, err := Build(ctx)
	if err != nil {
		return 1, err
	}
	if lane.BinDir() == "" {
		if err := cluster.BuildNodes(ctx, binDir, os.Stderr); err != nil {
			return 1, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return 1, err
	}
	return kubelets.Enter(ctx, binDir, append([]string{self}, os.Args[1:]...)...)
}

// NewWithKubelets is like New, with the given number of ready nodes with real kubelets,
// which are removed when the case ends. On a machine that cannot run them, it skips the
// case and states the reason.
func NewWithKubelets(t *testing.T, count int) (*Fixture, []*kubelets.Node) {
	t.Helper()
	if err := kubelets.Unable(); err != nil {
		t.Skip(err)
	}
	f := New(t)
	nodes, err := kubelets.Start(t.Context(), f.Cluster, shared.binDir, count)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, node := range nodes {
				t.Log(node.Logs())
			}
		}
		if err := kubelets.PowerOff(nodes); err != nil {
			t.Error(err)
		}
	})
	return f, nodes
}
