// Package prometheus reads usage from whatever speaks the Prometheus HTTP API: Prometheus itself, Thanos, Mimir,
// VictoriaMetrics. The server works out the windows, so that a process knows them at its first sample.
//
// It decides how to ask, which node a series is about and what unit a value is in. Whether a sample is too old or more than
// its node has is left to usage.Store, credentials to the http.Client that it is given.
//
// An answer that did not arrive whole is an error of the whole sample: half a reading would pass pods off as idle. A series
// of which no sense can be made is left out and counted; nothing is ever taken for zero. A node's readings are as old as the
// node's last scrape, not as the query: a mean of a day would otherwise outlive its node by a day.
//
// Windows of over ten minutes are asked for again once a twentieth of their length has passed, at most ten minutes; until
// then the last answer is passed on for the nodes that are still scraped. One such query costs the server as much as
// hundreds of the short ones.
package prometheus

import (
	"context"
	"fmt"
	"net/url"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
)

// Name is the source's name in policies, output and metrics.
const Name = "Prometheus"

const (
	instantEndpoint = "api/v1/query"
	rangeEndpoint   = "api/v1/query_range"
)

// Source reads usage. It may be used by several goroutines.
type Source struct {
	config      Config
	api         *api
	nodeQueries []nodeQuery
	podQueries  []podQuery

	mu sync.Mutex
	// kept are the answers of long windows, one per query.
	kept map[*nodeQuery]keptAnswer
	// pods is how many pods there were last, to make room for as many.
	podCount int
}

// New returns a Source. Nothing is asked yet.
func New(config Config) (*Source, error) {
	config.setDefaults()
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("%s source: %w", Name, err)
	}
	s := &Source{config: config, kept: map[*nodeQuery]keptAnswer{}}
	var err error
	if s.nodeQueries, err = config.nodeQueries(); err != nil {
		return nil, fmt.Errorf("%s source: %w", Name, err)
	}
	if s.podQueries, err = config.podQueries(); err != nil {
		return nil, fmt.Errorf("%s source: %w", Name, err)
	}
	base, err := config.base()
	if err != nil {
		return nil, fmt.Errorf("%s source: %w", Name, err)
	}
	burst := max(config.Parallel, int(config.QueriesPerSecond))
	s.api = &api{
		client: config.Client, base: base, timeout: config.Timeout, maxBytes: config.MaxResponseBytes,
		limiter: rate.NewLimiter(rate.Limit(config.QueriesPerSecond), burst),
	}
	return s, nil
}

// Name returns the source's name.
func (s *Source) Name() string { return Name }

// Sample returns one reading of all nodes and pods.
func (s *Source) Sample(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error) {
	r := s.newRound(snapshot)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.config.Parallel)
	var pods *podTable
	group.Go(func() (err error) {
		pods, err = s.pods(ctx, s.expectedPods())
		return err
	})
	for i := range r.answers {
		group.Go(func() error { return s.answer(ctx, r, i) })
	}
	for i := range r.stamps {
		group.Go(func() error { return s.stamp(ctx, r, i) })
	}
	if err := group.Wait(); err != nil {
		return usage.Batch{}, err
	}
	batch := usage.Batch{Source: Name, MaxAge: s.config.MaxAge, Nodes: r.nodes(s.config.EveryNode), Pods: pods.result()}
	r.problems.Merge(pods.problems)
	batch.Problems = r.problems
	batch.Received = s.config.Now()
	s.expectPods(len(batch.Pods))
	return batch, nil
}

func (s *Source) expectedPods() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.podCount
}

func (s *Source) expectPods(count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.podCount = count
}

// instant sends an instant query; warnings are counted as problems.
func (s *Source) instant(ctx context.Context, expression string, visit func(*series), problems *usage.Problems) error {
	warnings, err := s.api.ask(ctx, instantEndpoint, url.Values{"query": {expression}}, visit)
	for _, warning := range warnings {
		problems.Add(usage.Unreadable, "the server warns: "+warning)
	}
	return err
}
