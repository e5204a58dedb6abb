package evictor

import (
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Call is how one eviction call ended.
type Call struct {
	At time.Time
	// Refused: a PodDisruptionBudget, or the API server for its load, said not now. Failed: any other error but that the pod is gone or is
	// another one by now, which tells nothing of the API server.
	Refused, Failed bool
}

// keptCalls is how many calls are remembered: as many as a policy may let fail in a row.
const keptCalls = 100

// calls are the newest calls, oldest first.
type calls struct {
	mu   sync.Mutex
	kept []Call
}

func (c *calls) add(at time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refused := apierrors.IsTooManyRequests(err)
	failed := err != nil && !refused && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err)
	if c.kept = append(c.kept, Call{At: at, Refused: refused, Failed: failed}); len(c.kept) > keptCalls {
		c.kept = append([]Call(nil), c.kept[1:]...)
	}
}

// Calls returns how the newest eviction calls ended, oldest first.
func (g *Gate) Calls() []Call {
	g.calls.mu.Lock()
	defer g.calls.mu.Unlock()
	return append([]Call(nil), g.calls.kept...)
}
