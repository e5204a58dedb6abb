package evictor

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// probeAgainAfter is how long evicting rests after a failed probe when nothing is heard of kube-scheduler meanwhile.
const probeAgainAfter = 30 * time.Minute

// hold remembers a failed probe from one cycle to the next: a probe in every cycle would evict a pod per interval for ever
// without cooling anything. The zero value holds nothing.
type hold struct {
	reason Reason
	since  time.Time
	// asked is how many requests the extender had answered by then.
	asked int64
}

// at returns why evicting rests at the given time and number of requests answered; empty when it may be tried again.
func (h hold) at(now time.Time, asked int64) Reason {
	if asked > h.asked || now.Sub(h.since) >= probeAgainAfter {
		return ""
	}
	return h.reason
}

// held returns why this cycle must not evict; empty when it may.
func (e *Executor) held(ctx context.Context, moves []Move) Reason {
	if e.hold.reason == "" || len(moves) == 0 {
		return ""
	}
	if reason := e.hold.at(e.config.Now(), e.asked(ctx)); reason != "" {
		klog.FromContext(ctx).Info("Evicting rests until kube-scheduler asks the extender", "reason", reason,
			"since", e.hold.since, "probeAgainAt", e.hold.since.Add(probeAgainAfter))
		return reason
	}
	e.hold = hold{}
	return ""
}

// keep holds the cycles to come if this one ended with a failed probe.
func (e *Executor) keep(ctx context.Context, stop Reason) {
	if stop != SteeringAbsent && stop != ProbeNotLanded {
		return
	}
	e.hold = hold{reason: stop, since: e.config.Now(), asked: e.asked(ctx)}
	message := "kube-scheduler does not ask the extender; replacements go where requests say"
	if stop == ProbeNotLanded {
		message = "The replacement of the first evicted pod was not bound in time"
	}
	klog.FromContext(ctx).Error(nil, message, "reason", stop, "probeAgainAt", e.hold.since.Add(probeAgainAfter))
}

func (e *Executor) asked(ctx context.Context) int64 {
	if e.config.Asked == nil {
		return 0
	}
	return e.config.Asked(ctx)
}
