package observer

import (
	"context"
	"reflect"
	"time"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster"
)

// Reconfigure goes on by another policy. Now, Gated, Metrics and the Ledger's callbacks stay as they were made with.
//
// Where the samples go together the new lines, scores and limits hold at once. Else what is published goes on by the old
// policy, and nothing is evicted on it, until the new sources have told enough.
func (o *Observer) Reconfigure(config Config) error {
	o.sampling.Lock()
	defer o.sampling.Unlock()
	if err := o.reconfigure(config); err != nil {
		return err
	}
	o.ledger.SetSourceAvoidance(config.Ledger.SourceAvoidance)
	o.refresh()
	return nil
}

func (o *Observer) reconfigure(config Config) (err error) {
	if reflect.DeepEqual(config.Reads, o.at.config.Reads) {
		o.next = nil
		return o.at.retune(config)
	}
	if o.next != nil && reflect.DeepEqual(config.Reads, o.next.config.Reads) {
		return o.next.retune(config)
	}
	next, err := newMeasuring(config, o.now())
	if err != nil {
		return err
	}
	if o.at.last == nil { // nobody has been answered yet
		o.at = next
		return nil
	}
	o.next, o.since = next, o.now()
	return nil
}

// refresh publishes what is known anew, without a reading.
func (o *Observer) refresh() {
	if o.at.last == nil {
		return
	}
	o.store.Observe(func(snapshot *cluster.Snapshot) {
		o.publish(o.at.observation(snapshot, o.now(), &reading{sources: o.at.last.Sources}, o.ledger.Expected()))
	})
}

// tryNext samples for the next policy and says whether it has taken over.
func (o *Observer) tryNext(ctx context.Context) bool {
	period := o.next.config.ObservationPeriod
	return o.observe(ctx, o.next, func(made *Observation) bool {
		if !made.Ripe(period, o.next.config.MinCoverage) && made.At.Sub(o.since) <= 2*period {
			return false
		}
		o.at, o.next = o.next, nil
		o.publish(made)
		klog.FromContext(ctx).Info("The policy's sources and windows are in use", "observed", made.At.Sub(o.since))
		return true
	})
}

// Ripe says whether there are enough samples to decide on: enough nodes and pods are known, by sources with a memory or for
// as long as given.
func (o *Observation) Ripe(period time.Duration, minCoverage float64) bool {
	// Until the gate opens it is not known for how long the sources have told.
	return o.Blocked == "" && (o.Settled || o.At.Sub(o.First) >= period) &&
		100*float64(o.Measured) >= minCoverage*float64(o.Pods)
}
