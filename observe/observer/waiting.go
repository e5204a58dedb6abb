package observer

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Wait configures how a process waits for usage.
type Wait struct {
	// Period is how long sources without history have to be observed.
	Period time.Duration
	// SampleInterval and MinCoverage are the values of the policy.
	SampleInterval time.Duration
	MinCoverage    float64
	Local          func() time.Time
	// Progress is called at each check. Say is called with a description of what was seen
	// so far, if that was not enough yet.
	Progress func()
	Say      func(now time.Time, text string)
	// Hopeless returns why waiting any longer is useless.
	Hopeless func(*Observation) error
}

// Await waits until sources with history have reported enough, or for the policy's
// observation period, counted from the first reading. The windows of a source without
// history have to fill first, including those of most pods, because an unmeasured pod is
// not moved. If a source delivers too little, Await waits twice as long and then relies
// on the gate to prevent evictions. It returns false if the context ended or waiting is
// useless.
func (o *Observer) Await(ctx context.Context, w Wait) bool {
	started := w.Local()
	err := wait.PollUntilContextCancel(ctx, 250*time.Millisecond, true, func(context.Context) (bool, error) {
		w.Progress()
		// The newest observation must cover the whole period. A replica that takes
		// over the Lease has been observing all along.
		latest := o.Latest()
		sufficient := latest != nil && latest.Sufficient(w.Period, w.SampleInterval, w.MinCoverage)
		now := w.Local()
		done := sufficient || now.Sub(started) > 2*w.Period
		if !done {
			w.Say(now, waiting(latest, now.Sub(started), w.Period))
		}
		return done, w.Hopeless(latest)
	})
	return err == nil
}

// AwaitFirst waits for the first Observation, with or without usage. It returns false if
// the context ended.
func (o *Observer) AwaitFirst(ctx context.Context) bool {
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) { return o.Latest() != nil, nil }) == nil
}

// waiting describes what the wait for usage has seen so far, and how much
// longer it takes.
func waiting(latest *Observation, waited, period time.Duration) string {
	seen, left := "nothing read yet", ""
	if latest != nil {
		seen = fmt.Sprintf("%d of %d ready nodes measured for long enough", latest.Fresh, latest.Ready)
	}
	if waited < period {
		left = fmt.Sprintf("about %v left, ", (period - waited).Round(time.Second))
	}
	return fmt.Sprintf("Watching usage: %s, %s%v at most", seen, left, (2*period - waited).Round(time.Second))
}

// Heartbeat calls progress while Observations arrive. It also calls progress until nodes
// and pods are known, because the process is then waiting for the API server.
func (o *Observer) Heartbeat(ctx context.Context, progress func()) error {
	var seen *Observation // compared by pointer: its time comes from a clock that may be set back
	wait.UntilWithContext(ctx, func(context.Context) {
		if latest := o.Latest(); latest != seen || !o.Store().Synced() {
			seen = latest
			progress()
		}
	}, time.Second)
	return nil
}
