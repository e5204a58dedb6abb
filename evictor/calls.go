package evictor

import (
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evenkeel/evenkeel/safeguards"
)

// keptCalls is how many calls are remembered: as many as a policy may let fail
// in a row.
const keptCalls = 100

// calls are the newest calls, oldest first.
type calls struct {
	mu   sync.Mutex
	kept []safeguards.Call
}

// add remembers how a call ended. A pod that is gone or is another one by now
// tells nothing of the API server.
func (c *calls) add(at time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refused := apierrors.IsTooManyRequests(err)
	failed := err != nil && !refused && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err)
	if c.kept = append(c.kept, safeguards.Call{At: at, Refused: refused, Err: failed}); len(c.kept) > keptCalls {
		c.kept = append([]safeguards.Call(nil), c.kept[1:]...)
	}
}
