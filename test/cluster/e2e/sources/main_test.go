// Package sources holds the end-to-end tests of the usage that Evenkeel reads
// and writes: every usage source, the windows that a spike must not fool, the
// faults that must not cause an eviction, and what nodesync writes to nodes. It
// has its own control plane, because these cases wait more than they work.
package sources

import (
	"context"
	"os"
	"testing"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(context.Background(), m)) }
