// Package prometheus reads usage from servers with the Prometheus HTTP API:
// Prometheus itself, Thanos, Mimir, VictoriaMetrics. The server computes the
// windows, so a process knows them from its first sample on.
//
// It decides how to query, to which node a series belongs and what unit a value has.
// usage.Store decides whether a sample is too old or exceeds the node's capacity. The
// given http.Client handles credentials.
//
// An incomplete answer fails the whole sample, because an incomplete reading would make
// pods look idle. A series that cannot be interpreted is left out and counted. A missing
// value never becomes zero. A node's readings are as old as the node's last scrape rather
// than the query; otherwise the mean of a day would outlive its node by a day.
//
// A window of over ten minutes is queried again after a twentieth of its length, and
// after ten minutes at the latest. Until then the last answer is reused for the nodes
// that are still scraped. One such query costs the server as much as hundreds of short
// ones.
package prometheus

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
)

// Source reads usage. It may be used by several goroutines.
type Source struct {
	config      settings
	api         *api
	nodeQueries []nodeQuery
	podQueries  []podQuery

	// kept holds the answers for long windows, parallel to nodeQueries.
	kept []atomic.Pointer[keptAnswer]
	// podCount is the last number of pods, the expected size of the next table.
	podCount atomic.Int64
}

// New returns a Source without sending a query.
func (c *Config) New(env *access.Env) (access.Reader, error) {
	if c.Address == "" {
		return nil, errors.New("prometheus.address: must be set, because the DeschedulerPolicy's metricsProviders name no Prometheus; nodesync also takes it from --prom")
	}
	if c.BearerTokenFile != "" && !strings.HasPrefix(strings.ToLower(c.Address), "https://") && env.IsOwnToken(c.BearerTokenFile) {
		return nil, fmt.Errorf("prometheus.bearerTokenFile: %q is the token of this process, which may evict pods: it is only sent over https", c.BearerTokenFile)
	}
	client, err := env.Client(access.Config{
		Name: "prometheus", BearerTokenFile: c.BearerTokenFile, BearerTokenSecret: c.BearerTokenSecret,
		BasicAuth: c.BasicAuth, TLS: c.TLS, Headers: c.Headers,
	})
	if err != nil {
		return nil, err
	}
	s := settings{Config: *c, Env: *env, client: client, parallel: 4, maxBytes: 128 << 20}
	signals := c.Describe().Signals
	s.Metrics = slices.DeleteFunc(slices.Clone(env.Metrics), func(m usage.Metric) bool {
		return m != usage.CPU && m != usage.Memory && !slices.Contains(signals, m)
	})
	s.Metrics = append(s.Metrics, c.besides(s.Metrics)...)
	return sourceOf(s)
}

// besides returns the metrics that are queried in addition to the given ones: stolen CPU
// if CPU is queried from node-exporter, because node-exporter's usage excludes it.
func (c *Config) besides(metrics []usage.Metric) []usage.Metric {
	if _, own := c.Queries.Nodes[usage.CPU]; c.NodeMetrics == NodeExporter && !own && slices.Contains(metrics, usage.CPU) {
		return []usage.Metric{usage.CPUStolen}
	}
	return nil
}

func sourceOf(config settings) (*Source, error) {
	if len(config.Windows) == 0 || len(config.Metrics) == 0 {
		return nil, errors.New("windows and metrics must not be empty")
	}
	nodeQueries, err := config.nodeQueries()
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(config.Address)
	if err != nil {
		return nil, errors.New("address is not a URL") // the error could contain a password
	}
	burst := max(config.parallel, int(config.QueriesPerSecond))
	return &Source{
		config: config, nodeQueries: nodeQueries, podQueries: config.podQueries(), kept: make([]atomic.Pointer[keptAnswer], len(nodeQueries)),
		api: &api{
			client: config.client, base: base, timeout: config.Timeout, maxBytes: config.maxBytes,
			limiter: rate.NewLimiter(rate.Limit(config.QueriesPerSecond), burst),
		},
	}, nil
}

// Name returns the source's name.
func (s *Source) Name() string { return Name }

// instant sends an instant query; warnings are counted as problems.
func (s *Source) instant(ctx context.Context, expression string, visit func(*series), problems *usage.Problems) error {
	warnings, err := s.api.ask(ctx, instantEndpoint, url.Values{"query": {expression}}, visit)
	for _, warning := range warnings {
		problems.Add(usage.Unreadable, "the server warns: "+warning)
	}
	return err
}

// keptAnswer is the part of a column that is kept.
type keptAnswer struct {
	// evaluated is the evaluation time of an instant query.
	asked, evaluated time.Time
	// values is keyed by node name.
	values   map[string]float64
	problems usage.Problems
	// unmatched holds the examples of series that belong to no node.
	unmatched map[string]bool
}
