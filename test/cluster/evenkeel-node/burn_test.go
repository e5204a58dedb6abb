package main

import (
	"testing"
	"time"
)

// A container uses more from the beginning of its spike until its end.
func TestLoad(t *testing.T) {
	l := load{milli: 20, spike: 80, after: 30 * time.Second, lasts: 10 * time.Second}
	for age, want := range map[time.Duration]int{0: 20, 29 * time.Second: 20, 30 * time.Second: 100, 39 * time.Second: 100, 40 * time.Second: 20} {
		if got := l.at(age); got != want {
			t.Errorf("after %v: %d, want %d", age, got, want)
		}
	}
	if got := (load{milli: 20}).at(time.Minute); got != 20 {
		t.Errorf("without a spike: %d, want 20", got)
	}
}

// Spinning counts as used CPU time.
func TestUsed(t *testing.T) {
	before := used()
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
	}
	if got := used() - before; got <= 0 {
		t.Errorf("%v of CPU time for spinning", got)
	}
}
