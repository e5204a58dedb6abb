// Package kubelet reads usage from the kubelets themselves, each asked directly: /stats/summary, or /metrics/resource where
// that is not served or not allowed. It needs no monitoring stack, only network access to the nodes' kubelet ports.
//
// It decides what a kubelet's numbers mean: memory in use is what the kubelet's own eviction formula leaves unavailable, CPU
// is what it last measured, and what it has not measured yet is left out, never zero. A kubelet is believed about its own
// node and the pods that the snapshot has on it, nothing else. Credentials, TLS and freshness are others' business.
//
// A role that reads like this needs, on the core API group:
//
//	resources: [nodes/stats]     verbs: [get]   # /stats/summary
//	resources: [nodes/metrics]   verbs: [get]   # /metrics/resource
//
// One of them is enough. It never needs nodes/proxy, which would allow running commands in every pod. Pressure (PSI) comes
// with /stats/summary only, from kubelets with the feature KubeletPSI.
package kubelet

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/jsonscan"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/access"
	"github.com/evenkeel/evenkeel/usage/fanout"
)

const (
	summaryPath  = "/stats/summary"
	resourcePath = "/metrics/resource"
	defaultPort  = 10250
	// accept is what both endpoints serve. The text format is asked for by version, as others have other times.
	accept = "application/json, text/plain;version=0.0.4;q=0.9"
	// refusalLasts is for how long a kubelet that refused its summary is not asked for it again.
	refusalLasts = 10 * time.Minute
)

// settings are what the policy says and what the process gives.
type settings struct {
	Config
	access.Env

	maxResponseBytes int64
}

// Source reads usage. It is safe for concurrent use, one reading at a time.
type Source struct {
	config settings
	fanout *fanout.Fanout
	// readers holds a Scanner per worker.
	readers sync.Pool

	mu    sync.Mutex
	nodes map[string]memory
}

// memory is what is kept of a node from one reading to the next.
type memory struct {
	counters counters
	// refused is when the kubelet last refused its summary.
	refused time.Time
}

// New returns a Source.
func (c *Config) New(env *access.Env) (access.Reader, error) {
	client, err := c.client(env.REST)
	if err != nil {
		return nil, err
	}
	return sourceOf(settings{Config: *c, Env: *env}, client)
}

func sourceOf(config settings, client *http.Client) (*Source, error) {
	asker, err := fanout.New(fanout.Config{
		Client: client, Accept: accept, Concurrency: config.Concurrency,
		Timeout: config.Timeout, RoundTimeout: config.Interval, MaxResponseBytes: config.maxResponseBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("kubelet source: %w", err)
	}
	return &Source{config: config, fanout: asker}, nil
}

// Name returns the source's name.
func (s *Source) Name() string { return Name }

// Sample returns one reading of all ready nodes that answer and of their pods; it is an error if none does.
func (s *Source) Sample(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	targets, requests := s.targets(snapshot)
	errs := s.fanout.Ask(ctx, requests, func(i int, fallback bool, body io.Reader) error {
		return s.read(&targets[i], fallback, body)
	})
	s.remember(snapshot, targets, errs)

	batch := usage.Batch{Source: Name, MaxAge: s.config.MaxAge, Received: s.config.Now()}
	if err := fanout.Tally(requests, errs, &batch.Problems); err != nil {
		return usage.Batch{}, err
	}
	for i := range targets {
		if errs[i] != nil {
			continue
		}
		report := targets[i].report
		batch.Problems.Merge(report.problems)
		batch.Pods = append(batch.Pods, report.pods...)
		if len(report.readings) > 0 {
			batch.Nodes = append(batch.Nodes, usage.NodeSample{Name: report.node.Node.Name, Readings: report.readings})
		}
	}
	return batch, nil
}

// read turns an answer into the target's report.
func (s *Source) read(t *target, fallback bool, body io.Reader) error {
	if t.resource || fallback {
		exposition, err := decodeExposition(body, t.node)
		if err != nil {
			return err
		}
		received := s.config.Now()
		if fallback {
			t.memory.refused = received
		}
		t.report, t.memory.counters = rated(t.node, exposition, t.memory.counters, received)
		return nil
	}
	reader, ok := s.readers.Get().(*jsonscan.Scanner)
	if !ok {
		reader = newScanner()
	}
	defer s.readers.Put(reader)
	summary, err := decodeSummary(body, reader, t.node)
	if err != nil {
		return err
	}
	t.report, t.memory = summarized(t.node, summary), memory{}
	return nil
}
