package extender

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
)

// The most that a pooled exchange keeps between requests: enough for 30,000
// node names, or for the 500 whole nodes that kube-scheduler sends in a cluster
// of 5,000.
const (
	maxPooledBytes = 4 << 20
	maxPooledNodes = 1 << 15
)

// firstRead is how many bytes the client's Content-Length alone may allocate.
// Beyond that the buffer grows with what arrives.
const firstRead = 256 << 10

// exchange holds everything that one request needs, reused for the next.
type exchange struct {
	body    bytes.Buffer
	source  io.LimitedReader // of the body
	req     request
	nodes   []cluster.NodeIndex
	reasons []Reject
	scores  []int8
	out     []byte
}

// poolable reports whether the exchange is small enough to keep.
func (e *exchange) poolable() bool {
	return e.body.Cap() <= maxPooledBytes && cap(e.out) <= maxPooledBytes && cap(e.req.names) <= maxPooledNodes
}

// errTooLarge is a body above the limit.
var errTooLarge = errors.New("request body too large")

// read reads the body of r, at most limit bytes.
func (e *exchange) read(r *http.Request, limit int64) error {
	e.body.Reset()
	if r.ContentLength > limit {
		return errTooLarge
	}
	expected := min(max(r.ContentLength, 0), firstRead)
	e.body.Grow(int(expected) + bytes.MinRead) // MinRead lets ReadFrom see the end without growing
	e.source = io.LimitedReader{R: r.Body, N: limit + 1}
	_, err := e.body.ReadFrom(&e.source)
	e.source.R = nil // the pool must not hold the connection
	if err != nil {
		return fmt.Errorf("reading the request body: %w", err)
	}
	if int64(e.body.Len()) > limit {
		return errTooLarge
	}
	return nil
}

// resolve looks up the nodes of the request, and returns the Index that guides
// the next request.
func (e *exchange) resolve(round Round) *Index {
	n := len(e.req.names)
	e.nodes = slices.Grow(e.nodes[:0], n)[:n]
	indexed, ok := round.(Indexed)
	if !ok {
		for i := range e.nodes {
			e.nodes[i] = round.Node(e.req.nodeName(i))
		}
		return nil
	}
	index := indexed.Index()
	known := e.req.guide == index
	for i, node := range e.req.found {
		if !known || node == notLooked {
			node = index.Find(e.req.nodeName(i))
		}
		e.nodes[i] = node
	}
	return index
}

// clearReasons keeps all nodes.
func (e *exchange) clearReasons() {
	n := len(e.req.names)
	e.reasons = slices.Grow(e.reasons[:0], n)[:n]
	clear(e.reasons)
}

// clearScores gives all nodes the score 0.
func (e *exchange) clearScores() {
	n := len(e.req.names)
	e.scores = slices.Grow(e.scores[:0], n)[:n]
	clear(e.scores)
}

// keepUnknown undoes rejections of unknown nodes and returns how many nodes
// are kept.
func (e *exchange) keepUnknown() (kept int) {
	for i, reason := range e.reasons {
		if e.nodes[i] < 0 {
			e.reasons[i] = RejectNone
		}
		if e.nodes[i] < 0 || reason == RejectNone {
			kept++
		}
	}
	return kept
}

// keepUnlessLoad undoes all rejections except RejectLoad and returns how many
// nodes are kept.
func (e *exchange) keepUnlessLoad() (kept int) {
	for i, reason := range e.reasons {
		if reason != RejectLoad {
			e.reasons[i] = RejectNone
			kept++
		}
	}
	return kept
}
