package nodesync

import (
	"context"
	"fmt"
	"time"

	"github.com/evenkeel/evenkeel/observe/observer"
)

// Say reports the progress of publishing every second until the context ends.
// syncer returns the Syncer of the policy in effect.
func Say(ctx context.Context, latest func() *observer.Observation, syncer func() *Syncer, say func(text string)) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		text := "Waiting for nodes and a first reading of their usage"
		if o, s := latest(), syncer(); o != nil && s != nil {
			text = fmt.Sprintf("Keeping nodes up to date: %d of %d ready nodes measured, %s", o.Fresh, o.Ready, s.Progress())
		}
		say(text)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
