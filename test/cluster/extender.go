package cluster

import (
	"context"
	"strings"
)

// ExtenderScored tells by kube-scheduler's own metrics whether it has asked an
// extender for scores since its start: this series exists only from then on. It
// has none for filter requests, and asks for no scores when filtering left one
// node.
func (c *Cluster) ExtenderScored(ctx context.Context) (bool, error) {
	metrics, err := c.Metrics(ctx, Scheduler)
	if err != nil {
		return false, err
	}
	return strings.Contains(metrics, `scheduler_goroutines{operation="prioritizing_extender"}`), nil
}
