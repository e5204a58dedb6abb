// Package handshakefaults holds the end-to-end tests of what happens to a move
// when something fails between its plan and its landing: processes that die or
// freeze, a ledger that is lost or spoilt, an API server that goes away, clocks
// that are wrong, destinations that turn bad. In each of them no pod is evicted
// twice or without a record, and no reservation outlives its expiry. It has a
// control plane of its own.
package handshakefaults

import (
	"context"
	"os"
	"testing"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

func TestMain(m *testing.M) { os.Exit(stage.Main(context.Background(), m)) }
