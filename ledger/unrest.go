package ledger

import (
	"maps"
	"time"
)

// Unrest is what a process remembers of what others do to the cluster, for the
// processes after it. An Unrest is never changed, only replaced.
type Unrest struct {
	// Draining and Waiting are the newest spells of many nodes that drain and of
	// many pods that wait for a node.
	Draining Spell `json:"draining,omitzero"`
	Waiting  Spell `json:"waiting,omitzero"`
	// Nodes holds when nodes were first seen to drain, for those whose taints do
	// not state it; zero for those that did so when Looked was set.
	Nodes map[string]time.Time `json:"nodes,omitempty"`
	// Looked: somebody has looked for such nodes.
	Looked bool `json:"looked,omitempty"`
}

// Spell is a time of unrest. It is over once it has been calm for long enough.
type Spell struct {
	Began time.Time `json:"began,omitzero"`
	Calm  time.Time `json:"calm,omitzero"`
}

func (u *Unrest) equal(o *Unrest) bool {
	return u.Draining == o.Draining && u.Waiting == o.Waiting && u.Looked == o.Looked && maps.EqualFunc(u.Nodes, o.Nodes, time.Time.Equal)
}

// Unrest returns what is remembered of what others do to the cluster.
func (l *Ledger) Unrest() Unrest {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unrest
}

// SetUnrest remembers what others do to the cluster.
func (l *Ledger) SetUnrest(unrest Unrest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.unrest.equal(&unrest) {
		l.unrest = unrest
		l.revision.Add(1)
	}
}
