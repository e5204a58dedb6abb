package evictor

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
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

// Proof says whether kube-scheduler was steered when it placed a replacement.
type Proof int

// The degrees of Proof.
const (
	// Unproven: the replacement landed well, possibly by chance.
	Unproven Proof = iota
	// Steered: the extender was asked.
	Steered
	// NotSteered: the extender was not asked, or the replacement landed on a
	// node that no extender would have allowed.
	NotSteered
)

// Leaving is a pod just before its eviction.
type Leaving struct {
	*ledger.Intent
	Pod *v1.Pod
	// Nodes are those that its replacement may be restricted to, the planned one
	// first; none if that might have it preempt others. Only filled where the
	// Steering restricts.
	Nodes []string
}

// Steering finds out whether kube-scheduler is steered.
type Steering interface {
	// Proven reports whether replacements are known to be steered before any of
	// a cycle has landed; if not, its first move is a probe. An error says why
	// they are known not to be.
	Proven(ctx context.Context) (bool, error)
	// Restricts reports whether a replacement may go to a few nodes only, which
	// Ready then takes; not if Ready will have the move wait.
	Restricts(leaving *Leaving) bool
	// Ready prepares a move just before its eviction: its replacement will be
	// steered. It returns why the move must not be made, or that it has to wait.
	Ready(ctx context.Context, leaving *Leaving) (reason reasons.Reason, wait bool)
	// Undo takes back what Ready prepared for a move that was not made, if it did.
	Undo(ctx context.Context, move *ledger.Intent)
	// Settle takes back what Ready prepared and no move needs any more.
	Settle(ctx context.Context)
	// Proves judges a landed move.
	Proves(ctx context.Context, move *ledger.Move) Proof
	// Asked counts the kube-scheduler requests that were answered; 0 if that is
	// not known.
	Asked(ctx context.Context) int64
}

// Scale is a Deployment's replica count and resourceVersion.
type Scale struct {
	Replicas int32
	Version  string
}

// Scaler reads and sets the replica counts of Deployments.
type Scaler interface {
	// Scale returns a Deployment's scale.
	Scale(ctx context.Context, namespace, deployment string) (Scale, error)
	// SetScale sets it. It fails with a conflict if the Deployment is no longer
	// at the given version.
	SetScale(ctx context.Context, namespace, deployment string, to Scale) error
	// Forbidden reports whether scaling was recently forbidden.
	Forbidden() bool
}
