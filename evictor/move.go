package evictor

import (
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Move is a planned move.
type Move struct {
	ledger.Intent
	// Reason is why the pod is moved; NodeHotAhead: its source is not hot yet;
	// NodeFull: its source is asked for more CPU than it has.
	Reason reasons.Reason
	// QuietMilliCores is up to how much CPU it is moved ahead of time.
	QuietMilliCores float64
	// Wanted: it is moved for what the pods of its source want and do not get.
	Wanted bool
}

// Outcome is the result of a Move: evicted if Reason is empty.
type Outcome struct {
	Move   Move
	Reason reasons.Reason
	// Err is the API server's answer behind EvictionFailed.
	Err error
}
