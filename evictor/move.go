package evictor

import (
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Move is a planned move.
type Move struct {
	ledger.Intent
	// Reason is why the pod is moved. It is NodeHotAhead if its source is not hot yet,
	// and NodeFull if the CPU demand on its source exceeds the source's capacity.
	Reason reasons.Reason
	// QuietMilliCores is the maximum CPU usage at which the pod is still moved ahead of
	// time.
	QuietMilliCores float64
	// ByItself reports whether an upstream plugin evicts the pod by itself. The framework
	// then reports the eviction.
	ByItself bool
	// Wanted reports whether it is moved because of unserved demand on its source.
	Wanted bool
}

// Result is the result of the attempt to make a Move. The pod was evicted if Reason is
// empty. The effect of the move is its ledger.Outcome.
type Result struct {
	Move   Move
	Reason reasons.Reason
	// Err is the API server's response if Reason is EvictionFailed.
	Err error
}
