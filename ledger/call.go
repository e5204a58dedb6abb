package ledger

import (
	"slices"
	"time"
)

// MaxCalls is the number of calls that are remembered: the highest number of consecutive
// failures that a policy may allow.
const MaxCalls = 100

// Call is the result of an eviction call. It is kept for later processes, because many
// failures or refusals stop evicting for a while.
type Call struct {
	Namespace string    `json:"namespace"`
	OwnerUID  string    `json:"ownerUID,omitempty"`
	Pod       string    `json:"pod"`
	At        time.Time `json:"at"`
	// Refused is true if a PodDisruptionBudget or a busy API server refused the call.
	// Failed is true if it failed for any other reason.
	Refused bool `json:"refused,omitempty"`
	Failed  bool `json:"failed,omitempty"`
}

// Called records the result of an eviction call.
func (l *Ledger) Called(call Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = newest(append(l.calls, call))
	l.revision.Add(1)
}

// Calls returns the results of the newest eviction calls, oldest first.
func (l *Ledger) Calls() []Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

func newest(calls []Call) []Call { return slices.Clone(calls[max(0, len(calls)-MaxCalls):]) }
