package status

import (
	"testing"

	"github.com/evenkeel/evenkeel/ledger"
)

// Explanations contain the name of a replacement, because people read them. Programs that follow
// pods by /status need the UID, because a name may be reused.
func TestReplacementsInReports(t *testing.T) {
	m := ledger.Move{Replacement: "uid-2", ReplacementName: "web-2"}
	if got := MoveOf(&m).Replacement; got != "uid-2" {
		t.Errorf("/status has %q, want the UID", got)
	}
	if got := recordedMoveOf(&m).Replacement; got != "web-2" {
		t.Errorf("explanations have %q, want the name", got)
	}
}
