package app

import (
	"os"
	"runtime/debug"
	"testing"
)

// Garbage is collected more often than by default, unless the environment says how often.
func TestCollector(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	t.Setenv("GOGC", "200")
	setCollector(collectSettled)
	if got := debug.SetGCPercent(100); got != 100 {
		t.Errorf("with GOGC given it is set to %d", got)
	}
	if err := os.Unsetenv("GOGC"); err != nil { // put back by Setenv
		t.Fatal(err)
	}
	setCollector(collectSettled)
	if got := debug.SetGCPercent(100); got != collectSettled {
		t.Errorf("without GOGC it is set to %d, want %d", got, collectSettled)
	}
}
