// Package handshake holds the end-to-end tests of evicting and scheduling
// together: every replacement lands where the plan says, whichever process
// kube-scheduler asks, and pods that nothing has measured yet count as well. It
// has its own control plane.
//
// Every case prints a line of figures; for more than one of them:
//
//	go test ./e2e/handshake -run Skew -count 10 -v | grep figures
package handshake

import (
	"context"
	"os"
	"testing"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/hostile"
)

func TestMain(m *testing.M) {
	if hostile.Main(context.Background()) {
		return
	}
	os.Exit(stage.Main(context.Background(), m))
}
