package sim

import (
	"fmt"
	"runtime/debug"
	"testing"

	"github.com/evenkeel/evenkeel/sim/trace"
)

// BenchmarkReplay plays a few hours, or a day, with both halves active and 30 pods on each node.
// The larger cases take minutes, so run only one of them, once:
//
//	go test -run xxx -bench '^BenchmarkReplay$/^nodes=15000$/^steps=24$' -benchtime 1x -cpuprofile cpu.out ./internal/sim
func BenchmarkReplay(b *testing.B) {
	for _, nodes := range []int{500, 1500, 5000, 15000} {
		for _, steps := range []int{24, 288} {
			b.Run(fmt.Sprintf("nodes=%d/steps=%d", nodes, steps), func(b *testing.B) {
				if nodes*steps > 500*288 && testing.Short() {
					b.Skip("it takes minutes")
				}
				benchReplay(b, nodes, steps)
			})
		}
	}
}

func benchReplay(b *testing.B, nodes, steps int) {
	defer debug.SetGCPercent(debug.SetGCPercent(GCPercent))
	b.ReportAllocs()
	evictions := 0
	for b.Loop() {
		evictions = replayed(b, nodes, 30*nodes, steps)
	}
	b.ReportMetric(float64(evictions), "evictions")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*nodes*30), "µs/pod")
}

// replayed plays generated usage and returns the number of evictions.
func replayed(tb testing.TB, nodes, pods, steps int) int {
	tb.Helper()
	cpu, _, err := trace.Generate(trace.DefaultRecipe())
	if err != nil {
		tb.Fatal(err)
	}
	shape := DefaultShape()
	shape.Nodes, shape.Pods = nodes, pods
	fleet, err := NewFleet(shape, cpu, nil)
	if err != nil {
		tb.Fatal(err)
	}
	results, err := Run(tb.Context(), Config{
		Fleet: fleet, Steps: steps, WarmUp: min(DefaultWarmUp, steps-1), Every: DefaultEvery, Lag: DefaultLag, Gap: DefaultGap,
		HotLinePercent: DefaultHotLine, ExtenderWeight: DefaultExtenderWeight, MaxUnavailablePercent: DefaultMaxUnavailable, Seed: 1,
		Variants: []Variant{{Name: "evenkeel", Policy: shipped(tb), Evicts: true, Steers: true}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return results[0].Evictions
}

// For a large fleet, a plan checks nodes on several processors. The parts of a replay that answer
// it share nothing that changes, which the race detector verifies.
func TestLargeFleetsAnswerSeveralAtOnce(t *testing.T) {
	if replayed(t, 1100, 6*1100, 6) == 0 {
		t.Error("nothing is evicted, so hardly anything was asked")
	}
}
