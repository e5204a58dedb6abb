package evictor

import (
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Move is a planned move with what to tell about it.
type Move struct {
	ledger.Intent
	// Surge names the Deployment that is scaled up before its only pod is
	// evicted; empty for a pod that is just evicted.
	Surge string
	// Message says in words, with the numbers, why the pod is evicted.
	Message string
}

// Outcome is what became of a Move: evicted when Reason is empty.
type Outcome struct {
	Move   Move
	Reason reasons.Reason
	// Err is the API server's answer behind EvictionFailed.
	Err error
}
