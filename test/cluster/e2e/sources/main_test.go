// Package sources holds the end-to-end tests of the usage that Evenkeel reads and writes: every
// usage source, windows that ignore a spike, faults that must not cause an eviction, and what
// nodesync writes to nodes. The package has its own control plane, because its cases mostly wait.
package sources

import (
	"context"
	"os"
	"testing"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(context.Background(), m)) }
