package trace

import (
	"fmt"
	"math/rand/v2"
)

// burstDays is the number of days for which bursts are generated.
const burstDays = 6

// Bursts generates six days of CPU usage. Each group of series has one burst a day, which
// takes one to two and a half hours. Its time of day is random; if daily is set, it is
// the same every day.
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

// burstLoad holds the values shared by the series of a group: their usage, the additional
// usage during a burst, the burst's length in steps, and the step of each day in which it
// begins.
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

// in reports whether a step is within a burst. Bursts may continue past midnight.
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
