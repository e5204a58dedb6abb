// Package handshake holds the end-to-end tests of evicting and scheduling together. Every
// replacement lands where it was planned, whichever process kube-scheduler asks, and pods that have
// not been measured yet count as well. The package has its own control plane.
//
// Every case prints a line of figures. To get several of them:
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
