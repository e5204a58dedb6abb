package ledger

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/reasons"
)

// Proof is the verdict on whether kube-scheduler was steered when it placed a
// replacement.
type Proof int

// The values of Proof.
const (
	// Unproven means that the replacement landed well, possibly by chance.
	Unproven Proof = iota
	// Steered means that the extender was asked.
	Steered
	// NotSteered means that the extender was not asked, or that the replacement
	// landed on a node that no extender would have allowed.
	NotSteered
)

// Leaving is a pod just before its eviction.
type Leaving struct {
	*Intent
	Pod *v1.Pod
	// Nodes lists the nodes to which the pod's replacement may be restricted, the planned
	// one first. It is empty if a restriction could make the replacement preempt other
	// pods. It is filled only if the Steering restricts.
	Nodes []string
}

// ErrNotInstalled means that a way of steering is not installed in the cluster.
// Any other error of Proven means that it is installed but does not work now.
var ErrNotInstalled = errors.New("not installed")

// Steering is a way of steering replacements. It determines whether they are steered.
type Steering interface {
	// Proven reports whether replacements are already known to be steered
	// before the first one of a cycle lands. If not, the first move of the
	// cycle is a probe. An error is the reason why they are known not to be
	// steered.
	Proven(ctx context.Context) (bool, error)
	// Restricts reports whether a replacement can be restricted to a few nodes. If so,
	// Ready does it. Restricts returns false if Ready will make the move wait.
	Restricts(leaving *Leaving) bool
	// Ready prepares a move just before its eviction, so that its replacement
	// will be steered. It returns the reason why the move must not be made, if
	// any, and whether the move has to wait.
	Ready(ctx context.Context, leaving *Leaving) (reason reasons.Reason, wait bool)
	// Undo reverts the preparations that Ready made, if any, for a move that was not
	// made.
	Undo(ctx context.Context, move *Intent)
	// Settle reverts all preparations of Ready that no move needs any longer.
	Settle(ctx context.Context)
	// Proves judges whether a landed move was steered.
	Proves(ctx context.Context, move *Move) Proof
	// Asked counts the kube-scheduler requests that were answered; 0 if unknown.
	Asked(ctx context.Context) int64
}
