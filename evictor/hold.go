package evictor

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// probeAgainAfter is how long evicting rests after a failed probe when nothing is heard of kube-scheduler meanwhile.
const probeAgainAfter = 30 * time.Minute

// held returns why this cycle must not evict; empty when it may. A failed probe is remembered from one cycle to the next, in
// the ledger, so by one-shot runs too: a probe in every cycle would evict a pod per interval for ever without cooling anything.
func (e *Executor) held(ctx context.Context, moves []Move) reasons.Reason {
	hold := e.config.Gate.config.Ledger.Hold()
	if hold.Reason == "" || len(moves) == 0 {
		return ""
	}
	if reason := holds(hold, e.config.Now(), e.asked(ctx)); reason != "" {
		klog.FromContext(ctx).Info("Evicting rests until kube-scheduler asks the extender", "reason", reason,
			"since", hold.Since, "probeAgainAt", hold.Until)
		return reason
	}
	e.config.Gate.config.Ledger.SetHold(ledger.Hold{})
	return ""
}

// holds returns why evicting rests at the given time and number of requests answered; empty when it may be tried again.
func holds(hold ledger.Hold, now time.Time, asked int64) reasons.Reason {
	if asked > hold.Asked || !now.Before(hold.Until) {
		return ""
	}
	return reasons.Reason(hold.Reason)
}

// keep holds the cycles to come if this one ended with a failed probe.
func (e *Executor) keep(ctx context.Context, stop reasons.Reason) {
	if stop != reasons.SteeringAbsent && stop != reasons.ProbeNotLanded {
		return
	}
	now := e.config.Now()
	hold := ledger.Hold{Reason: string(stop), Since: now, Until: now.Add(probeAgainAfter), Asked: e.asked(ctx)}
	e.config.Gate.config.Ledger.SetHold(hold)
	message := "kube-scheduler does not ask the extender; replacements go where requests say"
	if stop == reasons.ProbeNotLanded {
		message = "The replacement of the first evicted pod was not bound in time"
	}
	klog.FromContext(ctx).Error(nil, message, "reason", stop, "probeAgainAt", hold.Until)
}

func (e *Executor) asked(ctx context.Context) int64 {
	if e.config.Asked == nil {
		return 0
	}
	return e.config.Asked(ctx)
}
