package evictor

import (
	"context"
	"time"

	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/safeguards"
)

// What the evicting half asks of others, beside the Cluster.

// Observer is where the newest observation and the ledger of moves come from.
type Observer interface {
	// Latest returns the newest observation, nil before the first.
	Latest() *observer.Observation
	Ledger() *ledger.Ledger
}

// Clock tells the time twice: as the API server has it, and by a clock that is
// never set, for how long something takes.
type Clock interface {
	Now() time.Time
	Local() time.Time
}

// Authority is what has to agree before anything is evicted.
type Authority interface {
	// Paused returns why evicting is paused.
	Paused(ctx context.Context) error
	// Leads returns why this process must not evict any more.
	Leads() error
	// Commit stores what the ledger holds, for others to know before an
	// eviction. Stored reports whether that has worked lately.
	Commit(ctx context.Context) error
	Stored() bool
	// Announced waits until those who answer kube-scheduler know what was
	// stored.
	Announced(ctx context.Context)
}

// Evictions is what a cycle asks of the client that evicts.
type Evictions interface {
	// Commit stores the ledger; nothing is evicted that is not stored.
	// Announced waits until the others know of it.
	Commit(ctx context.Context) error
	Announced(ctx context.Context)
	// Permits returns why nothing may be changed now.
	Permits(ctx context.Context) error
	// Evicted reports whether a pod was evicted in this cycle, in a dry run
	// too.
	Evicted(podUID string) bool
	// Calls returns how the newest eviction calls ended, oldest first.
	Calls() []safeguards.Call
	// DryRun reports whether evictions are told and not made.
	DryRun() bool
}

// Proof is what is known of whether kube-scheduler was steered when it placed a
// replacement.
type Proof int

// What can be known of steering.
const (
	// Unproven: the replacement landed well, but nobody knows whether that was
	// chance.
	Unproven Proof = iota
	// Steered: the extender was asked.
	Steered
	// NotSteered: the extender was not asked, or the replacement landed where
	// no extender would have let it.
	NotSteered
)

// Steering finds out whether kube-scheduler is steered.
type Steering interface {
	// Proves judges a move that landed.
	Proves(ctx context.Context, move *ledger.Move) Proof
	// Asked counts the requests of kube-scheduler that were answered, as far as
	// known; 0 where it is not.
	Asked(ctx context.Context) int64
}

// Scale is how many pods a Deployment wants, and which version of it says so.
type Scale struct {
	Replicas int32
	Version  string
}

// Scaler reads and sets how many pods Deployments want.
type Scaler interface {
	// Scale returns what a Deployment wants.
	Scale(ctx context.Context, namespace, deployment string) (Scale, error)
	// SetScale sets what it wants. It fails with a conflict if the Deployment
	// is not of the given version any more.
	SetScale(ctx context.Context, namespace, deployment string, to Scale) error
	// Forbidden reports whether scaling was forbidden lately.
	Forbidden() bool
}
