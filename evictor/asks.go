package evictor

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
)

// What the evicting half needs from other packages, besides the Cluster.

// Observer provides the newest observation and the ledger of moves.
type Observer interface {
	// Latest returns the newest observation, nil before the first.
	Latest() *observer.Observation
	Ledger() *ledger.Ledger
}

// ConfigMapName is the name of the ledger's ConfigMap, in Evenkeel's namespace.
const ConfigMapName = "evenkeel-ledger"

// Clock has two times: Now is the API server's, Local is a clock that is never
// set and measures durations.
type Clock interface {
	Now() time.Time
	Local() time.Time
}

// Authority must agree before anything is evicted.
type Authority interface {
	Leader
	// Paused returns why evicting is paused.
	Paused(ctx context.Context) error
	// Commit stores the ledger, so that others see it before an eviction.
	// Stored reports whether that succeeded recently.
	Commit(ctx context.Context) error
	Stored() bool
	// Announced waits until the processes that answer kube-scheduler have read
	// what was stored.
	Announced(ctx context.Context)
}

// Leader knows whether this process leads.
type Leader interface {
	// Leads returns why this process must change nothing any more.
	Leads() error
}

// Evictions is how a cycle uses the client that evicts.
type Evictions interface {
	// Commit stores the ledger; nothing is evicted before it is stored.
	// Announced waits until the other processes have read it.
	Commit(ctx context.Context) error
	Announced(ctx context.Context)
	// Permits returns why nothing may be changed now.
	Permits(ctx context.Context) error
	// Evicted reports whether a pod was evicted in this cycle, in a dry run
	// too.
	Evicted(podUID string) bool
	// DryRun reports whether evictions are only logged.
	DryRun() bool
	// Read returns a pod as the API server has it now.
	Read(ctx context.Context, namespace, name string) (*v1.Pod, error)
	// Evict makes the eviction of a move whose pod was just read.
	Evict(ctx context.Context, pod *v1.Pod, move *Move, eviction *policyv1.Eviction) error
	// Made counts the evictions of this cycle.
	Made(node, namespace string) Made
	// NotifyFailure records an Event on a pod whose eviction failed.
	NotifyFailure(pod *v1.Pod, failure error)
}

// Made counts the evictions of a cycle: all, off a node, and of a namespace.
type Made struct{ Total, OfNode, OfNamespace uint }
