package sim

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/sim/trace"
)

// If all nodes are about full and demand varies, each of them is full from time to time. Pods do
// not follow these changes: a moved pod stays for a day before it leaves a full node.
func TestMovedPodsDoNotFollowTheTurnsOfFullNodes(t *testing.T) {
	for name, series := range map[string]func(*rand.Rand, []float32){"noise": noisy, "waves of a day": waving} {
		t.Run(name, func(t *testing.T) {
			_, moves := replayedDrawn(t, 1, 5, 95, 4*288, series)
			brought, full := map[string]time.Time{}, 0
			for i := range moves {
				if m := &moves[i]; m.State == ledger.Landed && m.To != "" {
					brought[m.Replacement] = m.Ended
				}
			}
			for i := range moves {
				m := &moves[i]
				if m.CeilingMilliCores == 0 || m.Evicted.IsZero() {
					continue
				}
				full++
				if since, was := brought[m.PodUID]; was && m.Recorded.Sub(since) < 24*time.Hour {
					t.Errorf("%s leaves %s, which is full, %v after it was moved to it", m.Pod, m.From, m.Recorded.Sub(since))
				}
			}
			if full < 3 {
				t.Errorf("%d pods leave full nodes, which proves little", full)
			}
		})
	}
}

// Each pod has a spike of five minutes every four hours, which ends on its own. If nodes are at 40%
// otherwise, hardly any spike justifies a move.
func TestSpikesOfFiveMinutesMoveHardlyAnyPod(t *testing.T) {
	const seeds, days, mostADay = 4, 4, 1
	moved := 0
	for seed := range uint64(seeds) {
		evictions, _ := replayedDrawn(t, seed, 5, 40, days*288, spiky)
		moved += evictions
	}
	if moved > seeds*days*mostADay {
		t.Errorf("%d pods are moved in %d days, want %d a day at most", moved, seeds*days, mostADay)
	}
}

func noisy(rng *rand.Rand, series []float32) {
	noise := 0.0
	for s := range series {
		noise = 0.7*noise + 0.3*rng.NormFloat64()
		series[s] *= float32(math.Exp(noise))
	}
}

func waving(rng *rand.Rand, series []float32) {
	phase, height := rng.Float64(), 0.5+0.4*rng.Float64()
	for s := range series {
		series[s] *= float32(1 + height*math.Sin(2*math.Pi*(float64(s)/288+phase)))
	}
}

func spiky(rng *rand.Rand, series []float32) {
	for s := range series {
		if rng.Float64() < 1.0/48 {
			series[s] *= 8
		}
	}
}

// replayedDrawn replays nodes with 20 pods of different sizes each. It returns the number of
// evictions and the moves.
func replayedDrawn(t *testing.T, seed uint64, nodes int, percent float64, steps int, change func(*rand.Rand, []float32)) (evictions int, moves []ledger.Move) {
	t.Helper()
	cpu, rng := &trace.Trace{Name: "drawn"}, rand.New(rand.NewPCG(seed, 12))
	for range 20 * nodes {
		size, series := float32(20*math.Exp(0.7*rng.NormFloat64())), make([]float32, steps)
		for s := range series {
			series[s] = size
		}
		change(rng, series)
		cpu.Series = append(cpu.Series, series)
	}
	shape := DefaultShape()
	shape.Nodes, shape.MeanCPUPercent = nodes, percent
	fleet, err := NewFleet(shape, cpu, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := shipped(t)
	p.Options.MinHotTimeSaved = 10 * time.Minute
	c := defaultsOn(fleet)
	c.Steps, c.MeasureServed = steps, true
	player := started(t, c, &Variant{Name: t.Name(), Policy: p, Evicts: true, Steers: true})
	playAll(t, player, func(int) {})
	inFlight, ended := player.evenkeel.observer.Ledger().Moves()
	return len(player.tally.moves), append(ended, inFlight...)
}
