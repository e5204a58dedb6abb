package ledger

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/reasons"
)

// Proof is whether kube-scheduler was steered when it placed a replacement.
type Proof int

// The values of Proof.
const (
	// Unproven: the replacement landed well, possibly by chance.
	Unproven Proof = iota
	// Steered: the extender was asked.
	Steered
	// NotSteered: the extender was not asked, or the replacement landed on a node
	// that no extender would have allowed.
	NotSteered
)

// Leaving is a pod just before its eviction.
type Leaving struct {
	*Intent
	Pod *v1.Pod
	// Nodes are the nodes that its replacement may be restricted to, the planned
	// one first; none if that could make it preempt others. It is filled only if
	// the Steering restricts.
	Nodes []string
}

// ErrNotInstalled means that a way of steering is not installed in the cluster.
// Any other error of Proven means that it is installed but does not work now.
var ErrNotInstalled = errors.New("not installed")

// Steering determines whether kube-scheduler is steered.
type Steering interface {
	// Proven reports whether replacements are known to be steered before any of a
	// cycle has landed; if not, its first move is a probe. An error gives the
	// reason why they are known not to be.
	Proven(ctx context.Context) (bool, error)
	// Restricts reports whether a replacement can be restricted to a few nodes,
	// which Ready then does; false if Ready will make the move wait.
	Restricts(leaving *Leaving) bool
	// Ready prepares a move just before its eviction, so that its replacement will
	// be steered. It returns why the move must not be made, or that it has to
	// wait.
	Ready(ctx context.Context, leaving *Leaving) (reason reasons.Reason, wait bool)
	// Undo reverts what Ready prepared, if anything, for a move that was not made.
	Undo(ctx context.Context, move *Intent)
	// Settle reverts what Ready prepared and no move needs any longer.
	Settle(ctx context.Context)
	// Proves judges a landed move.
	Proves(ctx context.Context, move *Move) Proof
	// Asked counts the kube-scheduler requests that were answered; 0 if unknown.
	Asked(ctx context.Context) int64
}
