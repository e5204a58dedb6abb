package access

import (
	"context"
	"time"

	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
)

// Reader reads usage.
type Reader interface {
	// Name is the source's name in policies, output and metrics.
	Name() string
	// Sample returns one reading. The snapshot tells which nodes there are and
	// how to reach and recognise them.
	Sample(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error)
}

// Env is what a process gives a usage source to read with.
type Env struct {
	// REST is how the API server is reached, and ReadSecret reads from it.
	REST       *rest.Config
	ReadSecret ReadSecret
	// Now tells the time.
	Now func() time.Time
	// Timeout bounds one request. MaxAge is how old a sample may be; zero
	// leaves it to the source. Interval is the time between two samples.
	Timeout, MaxAge, Interval time.Duration
	// QueriesPerSecond bounds the requests to one server.
	QueriesPerSecond float64
	// Windows and Metrics are what is needed of nodes.
	Windows []usage.Window
	Metrics []usage.Metric
	// NodesOnly needs nothing of pods. EveryNode needs all nodes to be listed,
	// those without a series without a reading: for queries that give no series
	// where there is nothing to be said.
	NodesOnly, EveryNode bool
}
