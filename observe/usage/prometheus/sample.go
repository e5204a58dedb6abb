package prometheus

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Sample returns one reading of all nodes and pods.
func (s *Source) Sample(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error) {
	r := s.newRound(snapshot)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.config.parallel)
	var pods *podTable
	group.Go(func() (err error) {
		pods, err = s.pods(ctx, r, int(s.podCount.Load()))
		return err
	})
	for i := range r.answers {
		group.Go(func() error { return s.answer(ctx, r, i) })
	}
	for expression := range r.stamps {
		group.Go(func() error { return s.stamp(ctx, r, expression) })
	}
	if err := group.Wait(); err != nil {
		return usage.Batch{}, err
	}
	s.judge(r, pods)
	batch := usage.Batch{Source: Name, MaxAge: s.config.MaxAge, Nodes: r.nodes(s.config.EveryNode), Pods: pods.result()}
	r.problems.Merge(pods.problems)
	batch.Problems = r.problems
	batch.Received = s.config.Now()
	s.podCount.Store(int64(len(batch.Pods)))
	return batch, nil
}
