// Package e2e holds the end-to-end tests. All of them share one real control plane, and each starts
// with an empty cluster. A test runs Evenkeel as a process with the rights of the shipped
// ServiceAccounts, and checks what happened in the cluster.
package e2e

import (
	"context"
	"os"
	"testing"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(context.Background(), m)) }

// fixture is one case's cluster.
type fixture struct{ *stage.Fixture }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return &fixture{stage.New(t)}
}
