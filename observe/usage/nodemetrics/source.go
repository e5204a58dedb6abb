// Package nodemetrics reads usage from the exporter that crane-scheduler-plus
// runs on every node: GET /statistics, a flat JSON object of percentages of the
// node's total. It covers nodes only.
//
// It maps the keys to windows, converts percentages using the node's capacity and rejects
// an impossible unit, because some deployments report fractions instead of percentages.
// The format has no timestamps, so a value is as old as the answer. Two properties are
// not visible in the format. The exporter's first CPU sample is the mean since boot. Its
// max_avg windows hold the highest 15-second sample instead of the highest five-minute
// mean, so they are higher than those of other sources.
package nodemetrics

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/fanout"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// maxResponseBytes is far above the usual half kilobyte of an answer.
const maxResponseBytes = 1 << 20

// Source reads usage. It is safe for concurrent use.
type Source struct {
	config Config
	env    access.Env
	fanout *fanout.Fanout
}

// New returns a Source.
func (c *Config) New(env *access.Env) (access.Reader, error) {
	client, err := env.Client(access.Config{Name: "node-metrics", BearerTokenFile: c.BearerTokenFile, TLS: c.TLS, Headers: c.Headers})
	if err != nil {
		return nil, err
	}
	return c.source(env, client)
}

func (c *Config) source(env *access.Env, client *http.Client) (*Source, error) {
	asker, err := fanout.New(fanout.Config{
		Client: client, Accept: "application/json", Concurrency: c.Concurrency,
		Timeout: env.Timeout, RoundTimeout: env.Interval, MaxResponseBytes: maxResponseBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("node-metrics source: %w", err)
	}
	return &Source{config: *c, env: *env, fanout: asker}, nil
}

// Name returns the source's name.
func (s *Source) Name() string { return Name }

// Sample returns one reading of all ready nodes whose exporter answers, or an
// error if none does.
func (s *Source) Sample(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error) {
	nodes, requests := s.requests(snapshot)
	answers := make([]answer, len(nodes))
	errs := s.fanout.Ask(ctx, requests, func(i int, _ bool, body io.Reader) (err error) {
		if answers[i], err = decode(body); err != nil {
			return fmt.Errorf("decoding statistics: %w", err)
		}
		answers[i].at = s.env.Now()
		return nil
	})
	batch := usage.Batch{Source: Name, MaxAge: s.env.MaxAge, Received: s.env.Now()}
	if err := fanout.Tally(requests, errs, &batch.Problems); err != nil {
		return usage.Batch{}, err
	}
	// Failed answers have no values, so they do not affect the detected unit.
	c := converter{unit: s.config.Unit, tooLow: s.config.Unit == source.Percent && fractions(answers), problems: &batch.Problems}
	for i, node := range nodes {
		if readings := c.readings(node, &answers[i]); errs[i] == nil && len(readings) > 0 {
			batch.Nodes = append(batch.Nodes, usage.NodeSample{Name: node.Name, Readings: readings})
		}
	}
	return batch, nil
}

// requests returns the ready nodes and the request for each.
func (s *Source) requests(snapshot *cluster.Snapshot) (nodes []*cluster.Node, requests []fanout.Request) {
	endpoint := fanout.Endpoint{Scheme: string(s.config.Scheme), Port: int(s.config.Port), Path: s.config.Path}
	for _, node := range snapshot.Nodes {
		if !node.Node.Ready || node.Node.Virtual() != "" {
			continue
		}
		request := fanout.Request{Node: node.Node.Name}
		request.URL, request.Err = endpoint.URL(&node.Node)
		nodes, requests = append(nodes, &node.Node), append(requests, request)
	}
	return nodes, requests
}
