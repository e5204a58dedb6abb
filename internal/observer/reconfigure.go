package observer

import (
	"reflect"

	"github.com/evenkeel/evenkeel/cluster"
)

// Reconfigure goes on by another policy. Now, the Listener and Metrics stay as
// they were made with.
//
// Where the samples go together the new lines, scores and limits hold at once.
// Else what is published goes on by the old policy, and nothing is evicted on
// it, until the new sources have told enough.
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
