package trace

import (
	"fmt"
	"math/rand/v2"
)

// burstDays is the number of days for which bursts are generated.
const burstDays = 6

// Bursts generates six days of CPU in which each group of series has a burst of
// one to two and a half hours a day, at an hour that depends on the seed: the
// same on each day, or a different one on each.
func Bursts(r Recipe, daily bool) (*Trace, error) {
	r.Steps = burstDays * stepsPerDay
	if err := r.validate(); err != nil {
		return nil, err
	}
	t := &Trace{Name: "generated-bursts.cpu"}
	var group burstLoad
	for i := range r.Series {
		if i%r.Group == 0 {
			group = newBurstLoad(rand.New(rand.NewPCG(r.Seed, uint64(i)<<1)), daily) // reproducible on purpose
		}
		t.IDs = append(t.IDs, fmt.Sprintf("g%d-%d", i/r.Group, i%r.Group))
		t.Series = append(t.Series, group.cpu(r.Steps, rand.New(rand.NewPCG(r.Seed, uint64(i)<<1|1))))
	}
	return t, nil
}

// burstLoad holds the values that the series of a group share: their usage, the
// additional usage during a burst, the burst's length in steps, and the step of each day
// in which it begins.
type burstLoad struct {
	base, more float64
	length     int
	begins     [burstDays]int
}

func newBurstLoad(random *rand.Rand, daily bool) burstLoad {
	g := burstLoad{base: 5 + 15*random.Float64(), more: 40 + 40*random.Float64(), length: 12 + random.IntN(18)}
	for day := range g.begins {
		if g.begins[day] = random.IntN(stepsPerDay); daily {
			g.begins[day] = g.begins[0]
		}
	}
	return g
}

// in reports whether a step is in a burst, which may last beyond midnight.
func (g *burstLoad) in(step int) bool {
	for day, begins := range g.begins {
		if from := day*stepsPerDay + begins; step >= from && step < from+g.length {
			return true
		}
	}
	return false
}

func (g *burstLoad) cpu(steps int, random *rand.Rand) []float32 {
	series := make([]float32, steps)
	scale, noise := 0.8+0.4*random.Float64(), 0.0
	for step := range series {
		noise = 0.7*noise + 0.1*random.NormFloat64()
		value := g.base
		if g.in(step) {
			value += g.more
		}
		series[step] = float32(min(max(value*scale*(1+noise), 0.5), 100))
	}
	return series
}
