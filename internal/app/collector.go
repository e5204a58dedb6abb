package app

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// The heap growth in percent before garbage is collected. Go's default of 100
// reserves as much memory as is used. While the first lists arrive nearly
// everything is garbage, and collecting it often is expensive. Afterwards there
// is hardly any garbage, and live objects live long.
const (
	collectFilling = 40
	collectSettled = 20
	collectLoosely = 100
	// collectRoomBytes is what a settled heap may always grow by: otherwise
	// that of a small cluster would be collected all the time.
	collectRoomBytes = 32 << 20
)

// collectEvery is how often the percentage is recalculated.
const collectEvery = time.Minute

// setCollector sets how often garbage is collected, unless GOGC is set.
func setCollector(percent int) {
	if _, given := os.LookupEnv("GOGC"); !given {
		debug.SetGCPercent(percent)
	}
}

// settleCollector returns the task that collects more often once nodes and pods
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

// settledPercent lets a small heap grow enough to be collected rarely, and a
// large one by a fifth.
func settledPercent(live uint64) int {
	if live <= collectRoomBytes {
		return collectLoosely
	}
	return max(collectSettled, int(collectRoomBytes*100/live)) // below 100
}

// liveBytes returns the size of the heap after the last collection.
func liveBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
