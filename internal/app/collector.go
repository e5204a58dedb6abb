package app

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
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

// settleCollector collects more often once nodes and pods are known. It lasts
// as long as the process.
func (a *App) settleCollector(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for settled := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if !settled && a.observer.Store().Synced() {
			settled = true
			ticker.Reset(collectEvery)
		}
		if settled {
			setCollector(settledPercent(liveBytes()))
		}
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
