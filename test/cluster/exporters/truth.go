package exporters

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// truthAge is the maximum age of a cached answer. Answers are cached because readers ask
// all nodes at once, and each answer needs two lists of the whole cluster.
const truthAge = 300 * time.Millisecond

// truths reads the cluster, at most a few times per second.
type truths struct {
	cluster *cluster.Cluster

	mu    sync.Mutex
	at    time.Time
	nodes []cluster.NodeTruth
}

func (t *truths) all(ctx context.Context) ([]cluster.NodeTruth, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.at) < truthAge {
		return t.nodes, nil
	}
	nodes, err := t.cluster.Truth(ctx)
	if err != nil {
		return nil, err
	}
	t.nodes, t.at = nodes, time.Now()
	return nodes, nil
}

// of returns a node and its index in the order of names.
func (t *truths) of(ctx context.Context, name string) (cluster.NodeTruth, int, error) {
	nodes, err := t.all(ctx)
	if err != nil {
		return cluster.NodeTruth{}, 0, err
	}
	for place, node := range nodes {
		if node.Name == name {
			return node, place, nil
		}
	}
	return cluster.NodeTruth{}, 0, fmt.Errorf("node %q is gone", name)
}
