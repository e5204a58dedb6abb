package extender

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
)

// The maximum that a pooled exchange keeps between requests: enough for 30,000
// node names, or for the 500 whole nodes that kube-scheduler sends in a cluster
// of 5,000.
const (
	maxPooledBytes = 4 << 20
	maxPooledNodes = 1 << 15
)

const (
	// firstRead is the number of bytes that are allocated on the basis of the client's
	// Content-Length alone. Beyond that, the buffer grows as data arrives.
	firstRead = 256 << 10
	// spare is the space in the buffer needed to detect the end of a body.
	spare = 512
)

// exchange holds everything that one request needs, reused for the next.
type exchange struct {
	hold    hold
	body    []byte
	req     request
	nodes   []cluster.NodeIndex
	reasons []Reject
	scores  []int8
	out     []byte
}

// The reasons why a body is not read.
var (
	errTooLarge = errors.New("request body too large")
	errBusy     = errors.New("too many requests at once")
)

// read reads the body of r, at most limit bytes, into a buffer that grows as far as room
// allows.
func (e *exchange) read(r *http.Request, limit int64, room *limits) error {
	if r.ContentLength > limit {
		return errTooLarge
	}
	largest := limit + spare
	if r.ContentLength >= 0 {
		largest = r.ContentLength + spare
	}
	e.body = e.body[:0]
	for {
		if free := cap(e.body) - len(e.body); free < spare && int64(cap(e.body)) < largest || free == 0 {
			if !e.grow(largest, room) {
				return errBusy
			}
		}
		n, err := r.Body.Read(e.body[len(e.body):cap(e.body)])
		e.body = e.body[:len(e.body)+n]
		switch {
		case int64(len(e.body)) > limit:
			return errTooLarge
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !room.received(&e.hold):
			return errBusy
		case err != nil:
			return fmt.Errorf("reading the request body: %w", err)
		}
	}
}

// growth is the factor by which a buffer that is too small grows. With a smaller factor,
// bytes are copied more often and more garbage is created.
const growth = 8

// grow enlarges the buffer, up to a maximum size, and reports whether room allows that.
func (e *exchange) grow(largest int64, room *limits) bool {
	size := min(max(growth*int64(cap(e.body)), firstRead+spare), largest)
	if !room.grow(&e.hold, size-int64(cap(e.body))) {
		return false
	}
	e.body = append(make([]byte, 0, size), e.body...)
	return true
}

// resolve looks up the nodes of the request, and returns the Index that the next request
// tries first.
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

// clearReasons resets all reasons to RejectNone.
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
