package evictor

import (
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Move is a planned move.
type Move struct {
	ledger.Intent
	// Reason is why the pod is moved. NodeHotAhead: its source is not hot yet. NodeFull:
	// the CPU demand on its source exceeds the source's capacity.
	Reason reasons.Reason
	// QuietMilliCores is the CPU usage up to which the pod is moved ahead of time.
	QuietMilliCores float64
	// Wanted: it is moved because of what its source's pods want but do not get.
	Wanted bool
}

// Outcome is the result of a Move. The pod was evicted if Reason is empty.
type Outcome struct {
	Move   Move
	Reason reasons.Reason
	// Err is the API server's response behind EvictionFailed.
	Err error
}
