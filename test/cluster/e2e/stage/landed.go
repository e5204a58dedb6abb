package stage

import (
	"fmt"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// LedgerStatus is the part of GET /status about the ledger.
type LedgerStatus struct {
	Generation int64 `json:"generation"`
	InFlight   int   `json:"inFlight"`
}

// Ledger returns a process's ledger: the moves, with ended moves first, the oldest first,
// and the generation of the stored ledger that the process has read.
func (f *Fixture) Ledger(listen string) (moves []Move, status LedgerStatus) {
	f.T.Helper()
	var answer struct {
		Moves  []Move
		Ledger LedgerStatus
	}
	f.Fetch(evenkeel.Reports(listen)+"/status", &answer)
	return answer.Moves, answer.Ledger
}

// InFlight reports whether a move is still waiting for its eviction or its replacement.
func (m *Move) InFlight() bool {
	switch m.State {
	case "Intended", "Evicted", "Booked":
		return true
	}
	return false
}

// String formats the move as a line.
func (m *Move) String() string {
	return fmt.Sprintf("move of %s from %s to %s: %s at %q, replacement %q", m.Pod, m.From, m.To, m.State, m.Node, m.Replacement)
}
