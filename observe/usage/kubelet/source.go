// Package kubelet reads usage directly from each node's kubelet: from /stats/summary, or
// from /metrics/resource if the summary is not served or not allowed. It needs no
// monitoring stack, only network access to the nodes' kubelet ports.
//
// It decides what a kubelet's figures mean. Used memory is the memory that the kubelet's
// own eviction formula counts as unavailable. CPU usage is the growth of its counter
// between two readings. A value that the kubelet has not measured yet is left out; it
// never becomes zero. A kubelet is trusted only about its own node and the pods that the
// snapshot has on it. Credentials, TLS and freshness are handled elsewhere.
//
// Kubelets get the token of a ServiceAccount that has no other rights, if the
// API server grants one. The ServiceAccount needs a role with one of these
// rules, on the core API group:
//
//	resources: [nodes/stats]     verbs: [get]   # /stats/summary
//	resources: [nodes/metrics]   verbs: [get]   # /metrics/resource
//
// It never needs nodes/proxy, which would allow running commands in every pod.
// Pressure (PSI) comes with /stats/summary only, from kubelets with the feature
// KubeletPSI.
package kubelet

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/fanout"
)

const (
	summaryPath  = "/stats/summary"
	resourcePath = "/metrics/resource"
	defaultPort  = 10250
	// accept lists the formats that the two endpoints serve. The version of the text
	// format is fixed, because other versions write times differently.
	accept = "application/json, text/plain;version=0.0.4;q=0.9"
	// maxResponseBytes is far above the summary of a node with as many pods as
	// possible.
	maxResponseBytes = 16 << 20
	// refusalLasts is how long a kubelet is not asked for its summary again after it
	// refused one.
	refusalLasts = 10 * time.Minute
)

// settings are the policy's Config and the process's Env.
type settings struct {
	Config
	access.Env

	maxResponseBytes int64
}

// Source reads usage. It is safe for concurrent use; readings are taken one at a time.
type Source struct {
	config settings
	fanout *fanout.Fanout
	// readers holds a Scanner per worker.
	readers sync.Pool

	mu    sync.Mutex
	nodes map[string]memory
}

// memory is the state kept for a node between readings.
type memory struct {
	counters counters
	// refused is when the kubelet last refused its summary.
	refused time.Time
}

// New returns a Source.
func (c *Config) New(env *access.Env) (access.Reader, error) {
	client, err := c.client(env)
	if err != nil {
		return nil, err
	}
	return sourceOf(settings{Config: *c, Env: *env, maxResponseBytes: maxResponseBytes}, client)
}

func sourceOf(config settings, client *http.Client) (*Source, error) {
	asker, err := fanout.New(fanout.Config{
		Client: client, Accept: accept, Concurrency: config.Concurrency,
		Timeout: config.Timeout, RoundTimeout: config.Interval, MaxResponseBytes: config.maxResponseBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("kubelet source: %w", err)
	}
	return &Source{config: config, fanout: asker, nodes: map[string]memory{}}, nil
}

// Name returns the source's name.
func (s *Source) Name() string { return Name }
