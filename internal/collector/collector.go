// Package collector adjusts how often Go collects garbage to what a process is doing.
package collector

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Values of GOGC, the heap growth in percent before garbage is collected. Go's default of
// 100 reserves as much memory as is used. While the first lists arrive, nearly everything
// is garbage, and collecting it often is expensive. Afterwards there is hardly any
// garbage, because most objects live long.
const (
	filling = 40
	settled = 20
	loosely = 100
	// roomBytes is the minimum amount by which a settled heap may grow; otherwise, the heap
	// in a small cluster would be collected constantly.
	roomBytes = 32 << 20
)

// every is how often the percentage is recalculated.
const every = time.Minute

// Fill configures garbage collection for a process whose first lists are arriving. Under
// a memory limit, Go's default applies, because the limit already bounds the heap, and
// collecting more often would only cost CPU.
func Fill() {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 { // none; a negative argument changes nothing
		set(filling)
	}
}

// set sets the percentage, unless GOGC is set.
func set(percent int) {
	if _, given := os.LookupEnv("GOGC"); !given {
		debug.SetGCPercent(percent)
	}
}

// Settle returns a task that makes collection more frequent once nodes and pods
// are known. The task lasts as long as the process.
func Settle(known func() bool) func(context.Context) error {
	return func(ctx context.Context) error {
		err := wait.PollUntilContextCancel(ctx, time.Second, false, func(context.Context) (bool, error) { return known(), nil })
		if err == nil {
			wait.UntilWithContext(ctx, func(context.Context) { set(settledPercent(liveBytes())) }, every)
		}
		return nil
	}
}

// settledPercent lets a small heap grow enough to be collected rarely, and a
// large one by a fifth.
func settledPercent(live uint64) int {
	if live <= roomBytes {
		return loosely
	}
	return max(settled, int(roomBytes*100/live)) // below 100, because live exceeds roomBytes
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
