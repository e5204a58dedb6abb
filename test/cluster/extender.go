package cluster

import (
	"context"
	"strings"
)

// ExtenderScored reports whether kube-scheduler has asked an extender for scores since it
// was started, because only then its metrics contain this series. There is no such series
// for filter requests. kube-scheduler does not ask for scores if filtering leaves only
// one node.
func (c *Cluster) ExtenderScored(ctx context.Context) (bool, error) {
	metrics, err := c.Metrics(ctx, Scheduler)
	if err != nil {
		return false, err
	}
	return strings.Contains(metrics, `scheduler_goroutines{operation="prioritizing_extender"}`), nil
}
