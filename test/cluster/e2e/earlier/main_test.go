// Package earlier holds the end-to-end tests of what users of legacy systems
// bring along: their own policies, rules and configurations must behave as they
// know them. It has its own control plane.
package earlier

import (
	"context"
	"os"
	"testing"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(context.Background(), m)) }
