package placement

import (
	"errors"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Session applies hypothetical moves to the snapshot and answers questions about the
// result. It has exclusive use of the snapshot until it is closed. It must not be used by
// several goroutines.
type Session struct {
	filters   *Filters
	closed    bool
	templates map[*group][]*template
	plain     map[size][]*template
	created   asCreated // nil until needed
	moves     map[*podEntry]*move
	expected  []*podEntry
	shown     map[shown]bool      // evidence from ready replicas; nil until needed
	byVolume  map[string][]string // claims by volume; nil until needed
	version   uint64              // counts moves and undone moves
	last      prepared
	hosts     sets.Set[string] // hostname labels of nodes; nil until needed
	buffers   buffers
}

// move is a pod that has left its node, with its replacement elsewhere.
type move struct {
	old, replacement *podEntry
}

// Errors for refused calls of Move and Fits.
var (
	errSessionClosed = errors.New("the session is closed")
	errUnknownPod    = errors.New("the pod is not on a node of the snapshot")
	errUnknownNode   = errors.New("the node is not in the snapshot")
	errHasNode       = errors.New("the pod has a node")
	errAlreadyMoved  = errors.New("the pod was already moved in this session")
)

func (s *Session) lookUp(pod *v1.Pod, node string) (*podEntry, *nodeEntry, error) {
	if s.closed {
		return nil, nil, errSessionClosed
	}
	p, n := s.entry(pod), s.filters.snapshot.nodes[node]
	switch {
	case p == nil:
		return nil, nil, errUnknownPod
	case n == nil:
		return nil, nil, errUnknownNode
	case p.moved:
		return nil, nil, errAlreadyMoved
	}
	return p, n, nil
}

// entry returns the snapshot's entry of a pod, or nil. Usually callers ask about the same
// pod as last time.
func (s *Session) entry(pod *v1.Pod) *podEntry {
	switch {
	case pod == nil:
		return nil
	case s.last.pod != nil && s.last.pod.pod == pod:
		return s.last.pod
	}
	if p := s.filters.snapshot.byObject[pod]; p != nil {
		return p // found without reading the pod, which is not in the CPU cache
	}
	return s.filters.snapshot.pods[keyOf(pod)]
}

// prepared holds the states of the last pod, because callers ask about one pod and
// several nodes in turn.
type prepared struct {
	pod      *podEntry
	template *template
	version  uint64    // the session's version
	states   [2]*state // by world, nil until needed
}

// size is the key for sharing plain templates.
type size struct{ milliCPU, memory int64 }

// Begin opens a what-if session on the current snapshot. It waits for the
// previous session to be closed.
func (f *Filters) Begin() *Session {
	f.mu.Lock()
	return f.begin()
}

// begin opens a session. The caller has locked mu.
func (f *Filters) begin() *Session {
	return &Session{
		filters: f, templates: make(map[*group][]*template), plain: make(map[size][]*template), moves: make(map[*podEntry]*move),
	}
}
