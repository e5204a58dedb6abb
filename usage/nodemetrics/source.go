// Package nodemetrics reads usage from the exporter that crane-scheduler-plus runs on every node: GET /statistics, a flat JSON
// object of percentages of the node's total, of nodes only.
//
// It decides which windows the keys are, converts percentages by the node's capacity and refuses a unit that cannot be: some
// deployments give fractions for percentages. The format has no time, so a value is as old as the answer. Two things cannot be
// told from it: the exporter's first sample of CPU is the mean since boot, and its max_avg windows hold the highest sample of
// 15 seconds, not the highest mean of five minutes, so they run higher than those of other sources.
package nodemetrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/fanout"
)

// Name is the source's name in policies, output and metrics.
const Name = "NodeMetrics"

// Unit is what the exporters' values are in.
type Unit uint8

// The units.
const (
	// Percent is 0 to 100 of the node's total.
	Percent Unit = iota
	// Fraction is 0 to 1.
	Fraction
)

const (
	defaultPort = 19101
	defaultPath = "/statistics"
	// maxResponseBytes is far above the half kilobyte of an answer.
	maxResponseBytes = 1 << 20
)

// Config says how to reach the exporters. Client and Now must be given.
type Config struct {
	// Client may have credentials; see fanout.Config for what its transport should keep.
	Client *http.Client
	// Scheme is http unless it says https, Port 19101 and Path /statistics unless they are given.
	Scheme string
	Port   int
	Path   string
	// Unit is Percent unless it says otherwise.
	Unit Unit
	// Concurrency, Timeout and RoundTimeout are as in fanout.Config, and so are their defaults.
	Concurrency           int
	Timeout, RoundTimeout time.Duration
	// MaxAge is given on to the Batch.
	MaxAge time.Duration
	// Now tells when an answer arrived.
	Now func() time.Time
}

// Source reads usage. It is safe for concurrent use.
type Source struct {
	config Config
	fanout *fanout.Fanout
}

// New returns a Source.
func New(config Config) (*Source, error) {
	config.Scheme = cmp.Or(config.Scheme, "http")
	config.Port = cmp.Or(config.Port, defaultPort)
	config.Path = cmp.Or(config.Path, defaultPath)
	switch {
	case config.Now == nil:
		return nil, errors.New("node-metrics source: Now must be set")
	case config.Scheme != "https" && config.Scheme != "http":
		return nil, fmt.Errorf("node-metrics source: Scheme is %q; allowed: http, https", config.Scheme)
	case config.Port < 0 || config.Port > 65535:
		return nil, fmt.Errorf("node-metrics source: %d is not a port", config.Port)
	case !strings.HasPrefix(config.Path, "/"):
		return nil, fmt.Errorf("node-metrics source: Path is %q; it must begin with a slash", config.Path)
	case config.Unit > Fraction:
		return nil, fmt.Errorf("node-metrics source: there is no unit %d", config.Unit)
	}
	asker, err := fanout.New(fanout.Config{
		Client: config.Client, Accept: "application/json", Concurrency: config.Concurrency,
		Timeout: config.Timeout, RoundTimeout: config.RoundTimeout, MaxResponseBytes: maxResponseBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("node-metrics source: %w", err)
	}
	return &Source{config: config, fanout: asker}, nil
}

// Name returns the source's name.
func (s *Source) Name() string { return Name }

// Sample returns one reading of all ready nodes whose exporter answers; it is an error if none does.
func (s *Source) Sample(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error) {
	nodes, requests := s.requests(snapshot)
	answers := make([]answer, len(nodes))
	errs := s.fanout.Ask(ctx, requests, func(i int, _ bool, body io.Reader) (err error) {
		if answers[i], err = decode(body); err != nil {
			return fmt.Errorf("decoding statistics: %w", err)
		}
		answers[i].at = s.config.Now()
		return nil
	})
	batch := usage.Batch{Source: Name, MaxAge: s.config.MaxAge, Received: s.config.Now()}
	if err := fanout.Tally(requests, errs, &batch.Problems); err != nil {
		return usage.Batch{}, err
	}
	// What failed has no values, and so has no say in the unit.
	c := converter{unit: s.config.Unit, tooLow: s.config.Unit == Percent && fractions(answers), problems: &batch.Problems}
	for i, node := range nodes {
		if readings := c.readings(node, &answers[i]); errs[i] == nil && len(readings) > 0 {
			batch.Nodes = append(batch.Nodes, usage.NodeSample{Name: node.Name, Readings: readings})
		}
	}
	return batch, nil
}

// requests returns the ready nodes and what each is asked.
func (s *Source) requests(snapshot *cluster.Snapshot) (nodes []*cluster.Node, requests []fanout.Request) {
	endpoint := fanout.Endpoint{Scheme: s.config.Scheme, Port: s.config.Port, Path: s.config.Path}
	for _, node := range snapshot.Nodes {
		if !node.Node.Ready {
			continue
		}
		request := fanout.Request{Node: node.Node.Name}
		request.URL, request.Err = endpoint.URL(&node.Node)
		nodes, requests = append(nodes, &node.Node), append(requests, request)
	}
	return nodes, requests
}
