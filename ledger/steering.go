package ledger

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/reasons"
)

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
	*Intent
	Pod *v1.Pod
	// Nodes are those that its replacement may be restricted to, the planned one
	// first; none if that might have it preempt others. Only filled where the
	// Steering restricts.
	Nodes []string
}

// ErrNotInstalled says that a cluster is not set up for a way to steer. Any other
// error of Proven says that it is, and that this does not work now.
var ErrNotInstalled = errors.New("not installed")

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
	Undo(ctx context.Context, move *Intent)
	// Settle takes back what Ready prepared and no move needs any more.
	Settle(ctx context.Context)
	// Proves judges a landed move.
	Proves(ctx context.Context, move *Move) Proof
	// Asked counts the kube-scheduler requests that were answered; 0 if that is
	// not known.
	Asked(ctx context.Context) int64
}
