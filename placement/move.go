package placement

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// Move applies a move. The pod leaves its node, where it is still terminating in the
// world terminating, and its replacement is assumed to be on dest, whether or not it
// fits. The returned function undoes only this move. Moves may be undone in any order,
// and an undone pod may be moved again.
func (s *Session) Move(pod *v1.Pod, dest string) (undo func(), err error) {
	old, to, err := s.lookUp(pod, dest)
	if err != nil {
		return nil, fmt.Errorf("moving pod to node %q: %w", dest, err)
	}
	snap := s.filters.snapshot
	t := s.templateOf(old)
	if t.requests == nil {
		t.requests = old.requestsAnew(t.replacement)
	}
	m := &move{old: old, replacement: newEntry(t.replacement, to, t.requests)}
	s.moves[old] = m
	old.moved = true
	old.group.away++
	snap.count(m.replacement, old.group)
	old.node.touch().left++
	to.arrive(m.replacement)
	s.bump(old.group)
	return func() { s.undo(m) }, nil
}

// Filled returns the share of a node's CPU or memory that its pods request after the session's moves, whichever is
// larger.
func (s *Session) Filled(node string) float64 {
	n := s.filters.snapshot.nodes[node]
	if s.closed || n == nil {
		return 0
	}
	info := n.infoIn(gone)
	has, asked := info.GetAllocatable(), info.GetRequested()
	return max(share(asked.GetMilliCPU(), has.GetMilliCPU()), share(asked.GetMemory(), has.GetMemory()))
}

func share(of, all int64) float64 {
	if all <= 0 {
		return 0
	}
	return float64(of) / float64(all)
}

func (s *Session) undo(m *move) {
	if s.closed || s.moves[m.old] != m {
		return
	}
	delete(s.moves, m.old)
	m.old.moved = false
	m.old.group.away--
	m.old.node.touch().left--
	m.old.node.settle()
	m.replacement.node.touch().remove(m.replacement)
	m.replacement.node.settle()
	s.filters.snapshot.discount(m.replacement)
	s.bump(m.old.group)
}

// Expect counts a pod that has no node yet on the given node until the session is closed,
// whether or not it fits there.
func (s *Session) Expect(pod *v1.Pod, node string) error {
	to := s.filters.snapshot.nodes[node]
	switch {
	case s.closed:
		return errSessionClosed
	case to == nil:
		return errUnknownNode
	case s.entry(pod) != nil:
		return errHasNode
	}
	snap := s.filters.snapshot
	g := snap.index.groupOf(pod)
	p := newEntry(pod, to, g.shareRequests(pod))
	snap.count(p, g)
	to.arrive(p)
	s.expected = append(s.expected, p)
	s.bump(g)
	return nil
}

// forget undoes Expect.
func (s *Session) forget(p *podEntry) {
	p.node.touch().remove(p)
	p.node.settle()
	s.filters.snapshot.discount(p)
}

// bump invalidates states that depend on the group.
func (s *Session) bump(g *group) {
	g.version++
	s.version++
}

// Close undoes the session's moves and releases the snapshot. It may be called twice. All
// other methods refuse a closed session.
func (s *Session) Close() {
	if s.closed {
		return
	}
	for _, m := range s.moves {
		s.undo(m)
	}
	for _, p := range s.expected {
		s.forget(p)
	}
	s.closed = true
	s.templates, s.plain, s.moves, s.expected, s.last = nil, nil, nil, nil, prepared{}
	s.filters.mu.Unlock()
}
