// Package handshakefaults holds the end-to-end tests of failures between the plan of a move and its
// landing: processes that die or freeze, a ledger that is lost or corrupted, an API server that
// goes away, clocks that are wrong, and destinations that become unsuitable. In each of them, no
// pod is evicted twice or without a record, and no reservation outlives its expiry. The package has
// its own control plane.
package handshakefaults

import (
	"context"
	"os"
	"testing"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(context.Background(), m)) }
