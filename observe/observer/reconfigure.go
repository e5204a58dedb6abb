package observer

import (
	"reflect"

	"github.com/evenkeel/evenkeel/cluster"
)

// Reconfigure applies another policy. Now, Listener and Metrics stay as given
// to New.
//
// The new meaning of taints applies at once. If the samples are compatible, so do the new
// lines, scores and limits. Otherwise Observations keep following the old policy, without
// evictions, until the new sources have reported enough.
func (o *Observer) Reconfigure(config Config) error {
	o.sampling.Lock()
	defer o.sampling.Unlock()
	if err := o.reconfigure(config); err != nil {
		return err
	}
	o.ledger.SetSourceAvoidance(config.Ledger.SourceAvoidance)
	o.store.SetTaints(config.Taints)
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
	if o.at.last == nil { // nothing has been published yet
		next.usage.InheritPatterns(o.at.usage)
		o.at = next
		return nil
	}
	o.next, o.since = next, o.now().Round(0)
	return nil
}

// refresh publishes a new Observation from what is known, without a reading.
func (o *Observer) refresh() {
	if o.at.last == nil {
		return
	}
	o.store.Observe(func(snapshot *cluster.Snapshot) {
		o.publish(o.at.observation(snapshot, o.now(), &reading{sources: o.at.last.Sources}, o.ledger.Expected()))
	})
}
