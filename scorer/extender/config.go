package extender

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The defaults of a Config.
const (
	DefaultAddress         = ":8888"
	DefaultMaxBodyBytes    = 32 << 20
	DefaultMaxConcurrent   = 16
	DefaultListedRejects   = 32
	DefaultBudget          = 200 * time.Millisecond
	DefaultShutdownTimeout = 5 * time.Second
)

// Config configures a Server. Zero fields take their default; Judge is needed.
type Config struct {
	Judge Judge

	// Address to listen on, unless Listener is given.
	Address string
	// Listener to serve on; Run closes it.
	Listener net.Listener
	TLS      TLS

	// Nodes, Status and Shadow are the pages /nodes, /status and /shadow; nil
	// has none there.
	Nodes, Status, Shadow http.Handler
	// Explain is every page below /explain/.
	Explain http.Handler

	// Registerer of the metrics; nil keeps them private.
	Registerer prometheus.Registerer

	// LoadMessage is what kube-scheduler tells about a node that is rejected
	// for RejectLoad; empty takes the message of that reason.
	LoadMessage string
	// RejectAll lets a request go without a node when every one of its nodes is
	// rejected for RejectLoad. Else all are kept then.
	RejectAll bool
	// NamesOnly answers a filter request without node names by an error in its
	// reply, as extenders did that understood nothing else. Else whole nodes do
	// as well, and a request with neither is refused.
	NamesOnly bool
	// LogBodies logs what is asked, the first 4 kB of it. A pod's environment
	// is part of it.
	LogBodies bool
	// Pages are served at further paths, each exactly as it is given.
	Pages map[string]http.Handler

	// MaxBodyBytes is the largest request accepted.
	MaxBodyBytes int64
	// MaxConcurrent is how many requests are judged at once. Above it answers
	// are neutral, above four times of it requests are refused.
	MaxConcurrent int
	// ListedRejects is how many rejected nodes a filter reply names with their
	// reason; negative for none. See FullReplies.
	ListedRejects int
	// FullReplies names every rejected node in filter replies and every node
	// in prioritize replies. kube-scheduler decides the same without, and
	// decoding the replies is most of what an extender costs it.
	FullReplies bool
	// Budget is the time per request above which it is counted as late. It
	// should be the httpTimeout of kube-scheduler's extender entry.
	Budget time.Duration
	// ShutdownTimeout is how long Run waits for requests when it is stopped.
	ShutdownTimeout time.Duration
}

// complete returns c with defaults, or what is wrong with it.
func (c Config) complete() (Config, error) {
	if c.Judge == nil {
		return c, errors.New("extender: Judge is missing")
	}
	c.Address = cmp.Or(c.Address, DefaultAddress)
	c.MaxBodyBytes = cmp.Or(c.MaxBodyBytes, DefaultMaxBodyBytes)
	c.MaxConcurrent = cmp.Or(c.MaxConcurrent, DefaultMaxConcurrent)
	c.ListedRejects = max(0, cmp.Or(c.ListedRejects, DefaultListedRejects))
	c.Budget = cmp.Or(c.Budget, DefaultBudget)
	c.ShutdownTimeout = cmp.Or(c.ShutdownTimeout, DefaultShutdownTimeout)
	switch {
	case c.MaxBodyBytes < 0 || c.MaxBodyBytes >= math.MaxUint32:
		return c, fmt.Errorf("extender: MaxBodyBytes %d is not between 1 and 4 GiB", c.MaxBodyBytes)
	case c.MaxConcurrent < 0:
		return c, fmt.Errorf("extender: MaxConcurrent %d is negative", c.MaxConcurrent)
	case c.Budget < 0 || c.ShutdownTimeout < 0:
		return c, errors.New("extender: negative duration")
	}
	return c, c.TLS.validate()
}
