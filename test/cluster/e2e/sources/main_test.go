// Package sources holds the end-to-end tests of what Evenkeel knows and writes
// of usage: every usage source, the windows that a spike must not fool, the
// faults that must not cost an eviction, and what nodesync puts on nodes. It
// has a control plane of its own, because these cases wait more than they work.
package sources

import (
	"context"
	"os"
	"testing"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(context.Background(), m)) }
