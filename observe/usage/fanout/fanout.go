// Package fanout sends the same HTTP request to every node of a cluster, for
// sources that read their figures from the nodes themselves.
//
// It decides in which order nodes are asked, how many at a time and for how long; the
// source decides what is asked and what an answer means. A node that hangs occupies one
// worker for its own timeout, and the round ends in time no matter how many nodes hang.
// Nodes that failed last time are asked last, starting with the one that has not been
// asked for the longest time. So dead nodes keep neither healthy nor recovered ones from
// being asked. Answers are read as they arrive and never buffered. Redirects are not
// followed, because they would send credentials to any address that a node returns.
package fanout

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// Config sets how nodes are asked.
type Config struct {
	// Client carries the credentials. Its transport should keep an idle connection
	// per node for longer than the interval between rounds; otherwise every round
	// begins with a handshake per node.
	Client *http.Client
	// Accept is the Accept header; none is sent if it is empty.
	Accept string
	// Concurrency is the maximum number of nodes asked at the same time.
	Concurrency int
	// Timeout bounds one node's answer, fallback included, RoundTimeout the
	// whole round.
	Timeout, RoundTimeout time.Duration
	// MaxResponseBytes bounds an answer, after decompression; a longer one is
	// an error.
	MaxResponseBytes int64
}

// Request is the request to one node.
type Request struct {
	// Node is the node's name.
	Node string
	// Err is why the node cannot be asked; it is returned unchanged.
	Err error
	// URL is requested first. Fallback is requested if the node answers that it does not
	// have (404) or allow (403) URL.
	URL, Fallback string
}

// ReadFunc reads the whole answer to the request with the given index. It is called
// concurrently, but never twice at the same time for one index. fallback reports whether
// the Request's Fallback answered.
type ReadFunc func(index int, fallback bool, body io.Reader) error

// Fanout asks nodes. It is safe for concurrent use.
type Fanout struct {
	config Config
	client http.Client

	mu    sync.Mutex
	round mark
	marks map[string]mark // by node
}

// mark is the round in which a node was last asked. The bit failed puts nodes that failed
// behind the others.
type mark uint64

const failed mark = 1 << 63

// New returns a Fanout.
func New(config Config) (*Fanout, error) {
	if config.Client == nil {
		return nil, errors.New("fanout: Client must be set")
	}
	if config.Concurrency <= 0 || config.Timeout <= 0 || config.RoundTimeout <= 0 || config.MaxResponseBytes <= 0 {
		return nil, errors.New("fanout: Concurrency, Timeout, RoundTimeout and MaxResponseBytes must be positive")
	}
	f := &Fanout{config: config, client: *config.Client}
	f.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return f, nil
}
