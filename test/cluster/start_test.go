package cluster

import (
	"strings"
	"testing"
)

// If a cluster cannot start, the error names the part and the reason.
func TestStartWithoutBinariesNamesThePart(t *testing.T) {
	_, err := Start(t.Context(), Options{BinDir: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "starting etcd") {
		t.Errorf("Start without binaries = %v, want an error about etcd", err)
	}
}
