package annotations

import (
	"context"
	"errors"
	"fmt"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Sample returns the values in the annotations of the snapshot's nodes.
func (s *Source) Sample(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error) {
	if err := ctx.Err(); err != nil {
		return usage.Batch{}, fmt.Errorf("reading annotations: %w", err)
	}
	if snapshot == nil {
		return usage.Batch{}, errors.New("reading annotations: no snapshot of the cluster")
	}
	now := s.now()
	batch := usage.Batch{Source: Name, Received: now, MaxAge: s.maxAge}
	found := s.collect(snapshot, &batch.Problems)
	found = fresh(found, s.location(found, now), now, &batch.Problems)
	found = agreeing(found, s.unit, &batch.Problems)
	batch.Nodes = samples(found, &batch.Problems)
	return batch, nil
}
