package ledger

import (
	"maps"
	"time"
)

// Unrest holds a process's observations of changes that others make to the cluster. It is
// kept for later processes. An Unrest is never changed, only replaced.
type Unrest struct {
	// Draining and Waiting are the latest spells of many draining nodes and of
	// many pods waiting for a node.
	Draining Spell `json:"draining,omitzero"`
	Waiting  Spell `json:"waiting,omitzero"`
	// Nodes maps draining nodes to the time at which they were first seen draining, if
	// their taints do not state the time; zero for nodes that were already draining when
	// Looked was set.
	Nodes map[string]time.Time `json:"nodes,omitempty"`
	// Looked is true if draining nodes have been looked for.
	Looked bool `json:"looked,omitempty"`
}

// Spell is a period of unrest. It is over once the cluster has been calm for
// long enough.
type Spell struct {
	Began time.Time `json:"began,omitzero"`
	Calm  time.Time `json:"calm,omitzero"`
}

func (u *Unrest) equal(o *Unrest) bool {
	return u.Draining == o.Draining && u.Waiting == o.Waiting && u.Looked == o.Looked && maps.EqualFunc(u.Nodes, o.Nodes, time.Time.Equal)
}

// Unrest returns the remembered changes that others made to the cluster.
func (l *Ledger) Unrest() Unrest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unrest
}

// SetUnrest records changes that others make to the cluster.
func (l *Ledger) SetUnrest(unrest Unrest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.unrest.equal(&unrest) {
		l.unrest = unrest
		l.revision.Add(1)
	}
}
