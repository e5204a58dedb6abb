// Package admission holds the end-to-end tests of what the API server itself
// does with the shipped steering components: which pods it changes and how, and
// what the fences allow Evenkeel's ServiceAccount.
package admission

import (
	"context"
	"os"
	"testing"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(context.Background(), m)) }
