package flags

import (
	"io"
	"net/http"
	"time"
)

// NodeSync describes how the flags of `evenkeel nodesync` override its policy,
// and where nodes are reported.
type NodeSync struct {
	// Prometheus, if not empty, overrides the address of the policy's
	// Prometheus source.
	Prometheus string
	// Interval, if not 0, overrides the time between two samples.
	Interval time.Duration
	// WebAddress is the address that serves Pages; "0" disables it.
	WebAddress string
	// Pages makes the handler for /nodes and /status. labelled returns the label's value
	// and the nodes that carry it.
	Pages func(labelled func() (value string, nodes []string, err error)) http.Handler
	// Progress receives progress messages; nil in a cluster, where logs and
	// metrics serve that purpose.
	Progress io.Writer
}
