package leadership

import (
	"time"

	"k8s.io/client-go/kubernetes"
)

// LeaseConfig configures the Lease that a process must hold to evict.
type LeaseConfig struct {
	Client          kubernetes.Interface
	Namespace, Name string
	// Elect reports whether there is an election. Without one, this process assumes that
	// it is the only one.
	Elect bool
	// Once reports whether the work ends by itself. If so, the process fails if it loses
	// the Lease before the end, or cannot reach it for long. Otherwise the process stands
	// for election again, no matter how long that takes.
	Once bool
	// Duration is truncated to whole seconds, because the Lease stores whole seconds.
	Duration, RenewDeadline, RetryPeriod time.Duration
	// Progress is called whenever the process tries to take the Lease, because
	// waiting for the Lease or the API server counts as progress.
	Progress func()
}

// margin implements Lease.Margin.
func (c *LeaseConfig) margin() time.Duration {
	const most = 5 * time.Second
	if !c.Elect {
		return most
	}
	return min(most, c.Duration-c.RenewDeadline)
}

// callTimeout bounds one call for the Lease, so that there is time for a second attempt.
func (c *LeaseConfig) callTimeout() time.Duration { return max(c.RenewDeadline/2, time.Second) }
