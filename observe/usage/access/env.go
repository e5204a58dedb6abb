package access

import (
	"context"
	"time"

	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Reader reads usage.
type Reader interface {
	// Name is the source's name in policies, output and metrics.
	Name() string
	// Sample returns one reading. The snapshot lists the nodes, including how to
	// reach and identify them.
	Sample(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error)
}

// RequestToken requests a token from the API server for a ServiceAccount in the
// process's namespace, and returns when it expires.
type RequestToken func(ctx context.Context, serviceAccount string) (token string, expires time.Time, err error)

// Env is what a process provides to a usage source.
type Env struct {
	// REST configures access to the API server, from which ReadSecret reads.
	REST       *rest.Config
	ReadSecret ReadSecret
	// WithholdCredentials keeps credentials that the policy names from being read
	// and sent. Commands that run with the caller's rights set it.
	WithholdCredentials bool
	// RequestToken gets tokens of other ServiceAccounts; nil if there is no API
	// server to grant one.
	RequestToken RequestToken
	// Now is the clock.
	Now func() time.Time
	// Timeout bounds one request. MaxAge is how old a sample may be; zero
	// leaves it to the source. Interval is the time between two samples.
	Timeout, MaxAge, Interval time.Duration
	// QueriesPerSecond bounds the requests to one server.
	QueriesPerSecond float64
	// Windows and Metrics are those that are needed for nodes.
	Windows []usage.Window
	Metrics []usage.Metric
	// NodesOnly skips pods. EveryNode lists all nodes, including those without
	// a series, because some queries return a series only if there is something
	// to report.
	NodesOnly, EveryNode bool
}
