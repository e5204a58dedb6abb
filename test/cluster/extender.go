package cluster

import (
	"context"
	"strings"
)

// ExtenderScored reports whether kube-scheduler has asked an extender for
// scores since its start: this series of its metrics exists only then. There is
// no such series for filter requests, and kube-scheduler does not ask for
// scores if filtering left one node.
func (c *Cluster) ExtenderScored(ctx context.Context) (bool, error) {
	metrics, err := c.Metrics(ctx, Scheduler)
	if err != nil {
		return false, err
	}
	return strings.Contains(metrics, `scheduler_goroutines{operation="prioritizing_extender"}`), nil
}
