package kubelet

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/jsonscan"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/fanout"
)

// Sample returns one reading of all ready nodes that answer and of their pods,
// or an error if none does.
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

// read converts an answer to the target's report.
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
	summary, err := decodeSummary(body, reader, t.node, slices.Contains(s.config.Metrics, usage.CPUContention))
	if err != nil {
		return err
	}
	t.report, t.memory.counters = summarized(t.node, summary, t.memory.counters)
	t.memory.refused = time.Time{}
	return nil
}
