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

	"github.com/evenkeel/evenkeel/scorer/extender/certs"
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

// Config configures a Server. Zero fields take their defaults; Answerer is
// required.
type Config struct {
	Answerer Answerer

	// Address is the address to listen on, unless Listener is set.
	Address string
	// Listener is the listener to serve on. Run closes it.
	Listener net.Listener
	TLS      certs.Files
	// InsecureAddress, if set, is an additional address that always serves
	// plain HTTP, for clients that have not switched to HTTPS yet.
	InsecureAddress string

	// Status serves /status to anyone who can connect; nil means that there is
	// no such page.
	Status http.Handler

	// Registerer registers the metrics; nil keeps them private.
	Registerer prometheus.Registerer

	// LoadMessage is kube-scheduler's message for a node rejected with RejectLoad;
	// empty uses the default message.
	LoadMessage string
	// RejectAll leaves a request without a node if all of its nodes are rejected with
	// RejectLoad. Otherwise all of them are kept.
	RejectAll bool
	// NamesOnly answers a filter request without node names with an error in
	// the reply, as legacy extenders do, which read only names. Otherwise whole
	// nodes are accepted as well, and only a request with neither is refused.
	NamesOnly bool
	// LogBodies logs the first 4 KiB of each request. That includes the pod's
	// environment.
	LogBodies bool
	// Pages are served at further paths, which must match exactly.
	Pages map[string]http.Handler

	// MaxBodyBytes is the largest request accepted.
	MaxBodyBytes int64
	// MaxConcurrent is the number of requests that are evaluated at once. Further
	// requests get neutral answers. Beyond four times as many, requests are refused.
	MaxConcurrent int
	// ListedRejects is the number of rejected nodes that a filter reply lists with their
	// reason; negative for none. See FullReplies.
	ListedRejects int
	// FullReplies includes every rejected node in filter replies and every node in
	// prioritize replies. kube-scheduler's decisions are the same without it, and most of
	// the cost of an extender is decoding its replies.
	FullReplies bool
	// Budget is the time above which a request counts as late. It should be the
	// httpTimeout of kube-scheduler's extender entry.
	Budget time.Duration
	// ShutdownTimeout is how long Run waits for requests in flight when it
	// stops.
	ShutdownTimeout time.Duration
}

// complete returns c with defaults, or an error that describes what is invalid.
func (c Config) complete() (Config, error) {
	if c.Answerer == nil {
		return c, errors.New("extender: Answerer is missing")
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
	if err := c.TLS.Validate(); err != nil {
		return c, fmt.Errorf("extender: %w", err)
	}
	return c, nil
}
