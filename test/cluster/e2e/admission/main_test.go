// Package admission holds the end-to-end tests of the shipped steering components in a real API
// server: which pods it changes and how, and what the fences allow Evenkeel's ServiceAccount to do.
package admission

import (
	"context"
	"os"
	"testing"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(context.Background(), m)) }
