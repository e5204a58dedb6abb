package scenario

import (
	"context"
	"fmt"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// MemorySkew is like RequestSkew, but for memory, with the same percentages: CPU is idle,
// and two of twelve nodes use 96.6% of their memory because of pods that request little.
//
//	hot node:   5 web × 7.2Gi + 12 hog × 17.6Gi = 247.2 of 256Gi = 96.6 %; requests  5 × 1.6Gi + 12 × 2Gi  =  32Gi
//	other node: 5 web × 7.2Gi + 10 bg  ×  2.4Gi =  60.0 of 256Gi = 23.4 %; requests  5 × 1.6Gi + 10 × 16Gi = 168Gi
//
// To stay below 65% (166.4Gi), a hot node can keep 130.4Gi of hogs, which is 7 of them.
// Five must leave each hot node, ten in total.
func MemorySkew(ctx context.Context, c *cluster.Cluster, options ...Option) (*Story, error) {
	nodes, err := c.AddNodes(ctx, 12, template(options))
	if err != nil {
		return nil, fmt.Errorf("preparing memory-skew: %w", err)
	}
	hot, others := nodes[:2], nodes[2:]
	// In mebibytes, because these are whole numbers: 7.2Gi is 7372.8Mi.
	err = c.Place(ctx,
		cluster.Placement{Workload: inMemory("web", "1638Mi", "7373Mi"), On: each(nodes, 5)},
		cluster.Placement{Workload: inMemory("bg", "16Gi", "2458Mi"), On: each(others, 10)},
		cluster.Placement{Workload: inMemory("hog", "2Gi", "18022Mi"), On: each(hot, 12)},
	)
	if err != nil {
		return nil, fmt.Errorf("preparing memory-skew: %w", err)
	}
	return &Story{
		Nodes: nodes, Hot: hot,
		HotPercent: 96.6, CoolPercent: 23.4,
		EvictLinePercent: 65, FewestEvictions: 10,
	}, nil
}

func inMemory(name, request, usage string) cluster.Workload {
	return cluster.Workload{
		Namespace: "shop", Name: name,
		Requests: cluster.Resources{CPU: "50m", Memory: request},
		Usage:    cluster.Resources{CPU: "50m", Memory: usage},
	}
}
