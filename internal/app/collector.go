package app

import (
	"context"
	"os"
	"runtime/debug"
	"time"
)

// By how many percent the heap may grow before garbage is collected. Go's default of 100 holds as much room free as is used.
// While the first lists come in nearly all is garbage, and to collect it often costs much; afterwards hardly anything is, and
// what lives lives long.
const (
	collectFilling = 40
	collectSettled = 20
)

// setCollector sets how often garbage is collected, unless the environment says so.
func setCollector(percent int) {
	if _, given := os.LookupEnv("GOGC"); !given {
		debug.SetGCPercent(percent)
	}
}

// settleCollector collects more often once nodes and pods are known. It lasts as long as the process.
func (a *App) settleCollector(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for !a.observer.Store().Synced() {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
	setCollector(collectSettled)
	<-ctx.Done()
	return nil
}
