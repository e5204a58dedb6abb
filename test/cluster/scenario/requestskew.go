// Package scenario holds the scenarios that the demo and the end-to-end tests share: the
// cluster's initial state and the best possible outcome. It places workloads; callers
// observe and evaluate them.
package scenario

import (
	"context"
	"fmt"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// Story is a prepared cluster and what can be achieved on it.
type Story struct {
	// Nodes is sorted. Hot holds the nodes that are hot at the beginning.
	Nodes, Hot []string
	// HotPercent and CoolPercent are the true CPU usage of the hot nodes and of the other
	// nodes at the beginning.
	HotPercent, CoolPercent float64
	// EvictLinePercent is the CPU usage up to which a node counts as cooled.
	EvictLinePercent float64
	// FewestEvictions is the minimum number of evictions that brings every node below the
	// line.
	FewestEvictions int
}

// RequestSkew sets up a case in which requests are misleading. Two of twelve nodes look
// emptiest by requests although they use 97% of their CPU, so kube-scheduler alone would
// send every evicted pod straight back to them.
//
//	hot node:   5 web × 900m + 12 hog × 2200m = 30.9 of 32 cores = 96.6 %; requests  5 × 200m + 12 × 250m =  4 cores
//	other node: 5 web × 900m + 10 bg  ×  300m =  7.5 of 32 cores = 23.4 %; requests  5 × 200m + 10 × 2    = 21 cores
//
// To stay below 65% (20.8 cores), a hot node can keep 16.3 cores of hogs, which is 7 of
// them. Five must leave each hot node, ten in total.
func RequestSkew(ctx context.Context, c *cluster.Cluster, options ...Option) (*Story, error) {
	nodes, err := c.AddNodes(ctx, 12, template(options))
	if err != nil {
		return nil, fmt.Errorf("preparing request-skew: %w", err)
	}
	hot, others := nodes[:2], nodes[2:]
	err = c.Place(ctx,
		cluster.Placement{
			Workload: workload("web", "200m", "900m"),
			On:       each(nodes, 5),
		},
		cluster.Placement{
			Workload: workload("bg", "2", "300m"),
			On:       each(others, 10),
		},
		cluster.Placement{
			Workload: workload("hog", "250m", "2200m"),
			On:       each(hot, 12),
		},
	)
	if err != nil {
		return nil, fmt.Errorf("preparing request-skew: %w", err)
	}
	return &Story{
		Nodes: nodes, Hot: hot,
		HotPercent: 96.6, CoolPercent: 23.4,
		EvictLinePercent: 65, FewestEvictions: 10,
	}, nil
}

func workload(name, cpuRequest, cpuUsage string) cluster.Workload {
	return cluster.Workload{
		Namespace: "shop", Name: name,
		Requests: cluster.Resources{CPU: cpuRequest, Memory: "128Mi"},
		Usage:    cluster.Resources{CPU: cpuUsage, Memory: "256Mi"},
	}
}

func each(nodes []string, pods int) map[string]int {
	on := map[string]int{}
	for _, node := range nodes {
		on[node] = pods
	}
	return on
}
