package leadership

import (
	"time"

	"k8s.io/client-go/kubernetes"
)

// LeaseConfig configures the Lease that a process evicts under.
type LeaseConfig struct {
	Client          kubernetes.Interface
	Namespace, Name string
	// Elect reports whether there is an election; without one this process is
	// the only one.
	Elect bool
	// Once: the work ends on its own. The process then fails if it loses the Lease
	// earlier, or cannot reach it for long. Otherwise it stands for election
	// again, however long that takes.
	Once bool
	// Duration counts in whole seconds, because other processes read it in whole
	// seconds.
	Duration, RenewDeadline, RetryPeriod time.Duration
	// Progress is called whenever the process tries to take the Lease, because
	// waiting for the Lease or the API server counts as progress.
	Progress func()
}

// margin returns how long before others may take the Lease a leader that cannot
// renew it gives up. A call that changes something may take that long.
func (c *LeaseConfig) margin() time.Duration {
	const most = 5 * time.Second
	if !c.Elect {
		return most
	}
	return min(most, c.Duration-c.RenewDeadline)
}

// callTimeout bounds one call for the Lease, so that there is time for another
// one.
func (c *LeaseConfig) callTimeout() time.Duration { return max(c.RenewDeadline/2, time.Second) }
