package sim

import (
	"fmt"
	"testing"

	"github.com/evenkeel/evenkeel/internal/sim/trace"
)

// BenchmarkReplay plays a few hours, and a day, with both halves at work and 30
// pods on each node. The larger ones take minutes: run one of them, once.
//
//	go test -run xxx -bench 'Replay/nodes=15000/steps=24$' -benchtime 1x -cpuprofile cpu.out ./internal/sim
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
	cpu, _, err := trace.Generate(trace.DefaultRecipe())
	if err != nil {
		b.Fatal(err)
	}
	shape := DefaultShape()
	shape.Nodes, shape.Pods = nodes, 30*nodes
	b.ReportAllocs()
	for b.Loop() {
		fleet, err := NewFleet(shape, cpu, nil)
		if err != nil {
			b.Fatal(err)
		}
		results, err := Run(b.Context(), Config{
			Fleet: fleet, Steps: steps, WarmUp: DefaultWarmUp, Every: DefaultEvery, Lag: DefaultLag, Gap: DefaultGap, HotLinePercent: DefaultHotLine,
			ExtenderWeight: DefaultExtenderWeight, MaxUnavailablePercent: DefaultMaxUnavailable, Seed: 1,
			Variants: []Variant{{Name: "evenkeel", Policy: shipped(b), Evicts: true, Steers: true}},
		})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(results[0].Evictions), "evictions")
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*nodes*30), "µs/pod")
	}
}
