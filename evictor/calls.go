package evictor

import (
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Call is how one eviction call ended.
type Call struct {
	At time.Time
	// Refused: a PodDisruptionBudget, or the API server for its load, said not now. Failed: any other error.
	Refused, Failed bool
}

// keptCalls is how many calls are remembered.
const keptCalls = 20

// calls are the newest calls, oldest first.
type calls struct {
	mu   sync.Mutex
	kept []Call
}

func (c *calls) add(at time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refused := apierrors.IsTooManyRequests(err)
	if c.kept = append(c.kept, Call{At: at, Refused: refused, Failed: err != nil && !refused}); len(c.kept) > keptCalls {
		c.kept = append([]Call(nil), c.kept[1:]...)
	}
}

// Calls returns how the newest eviction calls ended, oldest first.
func (g *Gate) Calls() []Call {
	g.calls.mu.Lock()
	defer g.calls.mu.Unlock()
	return append([]Call(nil), g.calls.kept...)
}
