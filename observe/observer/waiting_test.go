package observer

import (
	"testing"
	"time"
)

// While the observer waits for usage, its progress states how many nodes are measured.
func TestWaitingReportsHowManyNodesAreMeasured(t *testing.T) {
	got := waiting(&Observation{Fresh: 8, Ready: 12}, 30*time.Second, 150*time.Second)
	if want := "Watching usage: 8 of 12 ready nodes measured for long enough, about 2m0s left, 4m30s at most"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
