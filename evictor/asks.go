package evictor

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
)

// The interfaces to other packages that the evicting half needs, besides Cluster.

// Observer provides the newest observation and the ledger of moves.
type Observer interface {
	// Latest returns the newest observation; nil before the first.
	Latest() *observer.Observation
	Ledger() *ledger.Ledger
}

// ConfigMapName is the name of the ledger's ConfigMap, in Evenkeel's namespace.
const ConfigMapName = "evenkeel-ledger"

// Clock provides two times. Now is the API server's time. Local is a clock that is never
// adjusted, for measuring durations.
type Clock interface {
	Now() time.Time
	Local() time.Time
}

// Authority must give its consent before anything is evicted.
type Authority interface {
	Leader
	// Paused returns why evicting is paused.
	Paused(ctx context.Context) error
	// Commit stores the ledger, so that others see it before an eviction. Stored reports
	// whether the last Commit succeeded.
	Commit(ctx context.Context) error
	Stored() bool
	// Announced waits until the processes that answer kube-scheduler have read the stored
	// ledger.
	Announced(ctx context.Context)
}

// Leader reports whether this process leads.
type Leader interface {
	// Leads returns why this process must not change anything any longer.
	Leads() error
}

// Evictions is the evicting client as a cycle uses it.
type Evictions interface {
	// Commit stores the ledger; nothing is evicted before it is stored.
	// Announced waits until the other processes have read it.
	Commit(ctx context.Context) error
	Announced(ctx context.Context)
	// Permits returns why nothing may be changed now.
	Permits(ctx context.Context) error
	// Evicted reports whether a pod was evicted in this cycle, including in a dry run.
	Evicted(podUID string) bool
	// DryRun reports whether evictions are only logged.
	DryRun() bool
	// Read returns the current state of a pod in the API server.
	Read(ctx context.Context, namespace, name string) (*v1.Pod, error)
	// Evict evicts the pod of a move. The pod was just read.
	Evict(ctx context.Context, pod *v1.Pod, move *Move, eviction *policyv1.Eviction) error
	// Made returns the number of evictions in this cycle.
	Made(node, namespace string) Made
	// NotifyFailure records an Event on a pod whose eviction failed.
	NotifyFailure(pod *v1.Pod, failure error)
}

// Made counts the evictions of a cycle: in total, off a node, and in a namespace.
type Made struct{ Total, OfNode, OfNamespace uint }
