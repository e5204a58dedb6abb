// Package earlier holds the end-to-end tests for users of legacy systems: their own policies, rules
// and configurations must keep the behavior that they know. It has its own control plane.
package earlier

import (
	"context"
	"os"
	"testing"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(context.Background(), m)) }
