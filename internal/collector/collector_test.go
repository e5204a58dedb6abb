package collector

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
)

// Garbage is collected more often than by default, unless the environment sets GOGC.
func TestCollector(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	t.Setenv("GOGC", "200")
	set(settled)
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("with GOGC given it is set to %d", got)
	}
	if err := os.Unsetenv("GOGC"); err != nil { // Setenv restores it
		t.Fatal(err)
	}
	set(settled)
	if got := debug.SetGCPercent(100); got != settled {
		t.Errorf("without GOGC it is set to %d, want %d", got, settled)
	}
}

// While the first lists arrive, a memory limit alone bounds the heap.
func TestFillUnderAMemoryLimit(t *testing.T) {
	t.Setenv("GOGC", "")
	if err := os.Unsetenv("GOGC"); err != nil { // Setenv restores it
		t.Fatal(err)
	}
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	for limit, want := range map[int64]int{1 << 40: 100, math.MaxInt64: filling} {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(100)
		Fill()
		if got := debug.SetGCPercent(100); got != want {
			t.Errorf("with a limit of %d bytes GOGC is %d, want %d", limit, got, want)
		}
	}
}

func TestSettledPercent(t *testing.T) {
	for name, tc := range map[string]struct {
		live uint64
		want int
	}{
		"nothing is known yet":         {0, 100},
		"a small heap":                 {20 << 20, 100},
		"a heap with a thousand nodes": {64 << 20, 50},
		"a heap of five thousand":      {170 << 20, 20},
		"a heap of any size at all":    {1 << 63, 20},
		"the room is all of the heap":  {32 << 20, 100},
	} {
		t.Run(name, func(t *testing.T) {
			if got := settledPercent(tc.live); got != tc.want {
				t.Errorf("%d bytes live: %d %%, want %d", tc.live, got, tc.want)
			}
		})
	}
	if liveBytes() == 0 {
		runtime.GC()
		if liveBytes() == 0 {
			t.Error("after a collection nothing is known to live")
		}
	}
}
