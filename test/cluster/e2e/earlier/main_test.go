// Package earlier holds the end-to-end tests of what users of earlier systems
// bring along: their own policies, rules and configurations, with the behaviour
// they know. It has a control plane of its own.
package earlier

import (
	"context"
	"os"
	"testing"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(context.Background(), m)) }
