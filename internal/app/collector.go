package app

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// By how many percent the heap may grow before garbage is collected. Go's
// default of 100 holds as much room free as is used. While the first lists come
// in nearly all is garbage, and to collect it often costs much; afterwards
// hardly anything is, and what lives lives long.
const (
	collectFilling = 40
	collectSettled = 20
	collectLoosely = 100
	// collectRoomBytes is what a settled heap may grow by in any case: that of
	// a small cluster would be collected all the time.
	collectRoomBytes = 32 << 20
)

// collectEvery is how often the room is measured out anew.
const collectEvery = time.Minute

// setCollector sets how often garbage is collected, unless the environment says
// so.
func setCollector(percent int) {
	if _, given := os.LookupEnv("GOGC"); !given {
		debug.SetGCPercent(percent)
	}
}

// settleCollector makes the task that collects more often once nodes and pods
// are known. It lasts as long as the process.
func settleCollector(known func() bool) func(context.Context) error {
	return func(ctx context.Context) error {
		err := wait.PollUntilContextCancel(ctx, time.Second, false, func(context.Context) (bool, error) { return known(), nil })
		if err == nil {
			wait.UntilWithContext(ctx, func(context.Context) { setCollector(settledPercent(liveBytes())) }, collectEvery)
		}
		return nil
	}
}

// settledPercent leaves a small heap room enough to be collected seldom, and a
// large one a fifth.
func settledPercent(live uint64) int {
	if live <= collectRoomBytes {
		return collectLoosely
	}
	return max(collectSettled, int(collectRoomBytes*100/live)) // below 100
}

// liveBytes is what was left when garbage was last collected.
func liveBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
