package trace

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Recipe is the input of Generate. Each series has a level, a daily wave, noise and
// random bursts. Memory follows CPU slowly; in some groups, it leaks until the program is
// restarted.
type Recipe struct {
	// Series is the number of series in the trace, Steps their length in steps of five
	// minutes.
	Series, Steps int
	// Group is the number of consecutive series that belong together: they share the phase
	// of their wave and are deployed at the same time.
	Group int
	// BurstsPerDay is how often a series reaches its limit for a while per day, on average.
	BurstsPerDay float64
	// LeakPercent is the percentage of groups whose memory leaks.
	LeakPercent float64
	// StormsPerDay is how often many programs are deployed within a few minutes.
	// StormPercent is the percentage of groups that take part; the level of such groups
	// changes.
	StormsPerDay, StormPercent float64
	Seed                       uint64
}

// DefaultRecipe returns the recipe for a day of a fleet with all of these features.
func DefaultRecipe() Recipe {
	return Recipe{Series: 1000, Steps: stepsPerDay, Group: 10, BurstsPerDay: 1, LeakPercent: 10, StormsPerDay: 2, StormPercent: 10, Seed: 1}
}

const stepsPerDay = 288

func (r *Recipe) validate() error {
	switch {
	case r.Series < 1 || r.Series > maxSeries || r.Steps < 1 || r.Steps > maxBytes/4/r.Series:
		return fmt.Errorf("%d series of %d steps: must be 1 to %d series and %d values", r.Series, r.Steps, maxSeries, maxBytes/4)
	case r.Group < 1:
		return fmt.Errorf("groups of %d series: must be at least 1", r.Group)
	case !(r.BurstsPerDay >= 0 && r.BurstsPerDay <= stepsPerDay) || !(r.StormsPerDay >= 0 && r.StormsPerDay <= stepsPerDay):
		return fmt.Errorf("%v bursts and %v storms per day: both must be 0 to %d", r.BurstsPerDay, r.StormsPerDay, stepsPerDay)
	case !(r.LeakPercent >= 0 && r.LeakPercent <= 100) || !(r.StormPercent >= 0 && r.StormPercent <= 100):
		return fmt.Errorf("leaks in %v%% of the groups, storms of %v%%: both must be 0 to 100", r.LeakPercent, r.StormPercent)
	}
	return nil
}

// Generate makes a CPU trace and a memory trace with the same number of series. The same
// Recipe always results in the same traces.
func Generate(r Recipe) (cpu, memory *Trace, err error) {
	if err := r.validate(); err != nil {
		return nil, nil, err
	}
	cpu, memory = &Trace{Name: "generated.cpu"}, &Trace{Name: "generated.mem"}
	var group groupLoad
	storms := r.storms()
	for i := range r.Series {
		if i%r.Group == 0 {
			group = newGroupLoad(&r, i/r.Group, storms)
			for _, step := range group.deploys {
				cpu.Deploys = append(cpu.Deploys, Deploy{First: i, Count: min(r.Group, r.Series-i), Step: step})
			}
		}
		id := fmt.Sprintf("g%d-%d", i/r.Group, i%r.Group)
		random := rand.New(rand.NewPCG(r.Seed, uint64(i)<<1|1)) // reproducible on purpose
		c := group.cpu(&r, random)
		cpu.IDs, cpu.Series = append(cpu.IDs, id), append(cpu.Series, c)
		memory.IDs, memory.Series = append(memory.IDs, id), append(memory.Series, group.memory(c, random))
	}
	return cpu, memory, nil
}

// storms returns the steps in which storms begin. It divides a day into as many parts as
// there are storms, and each part has one at a random time.
func (r *Recipe) storms() (steps []int) {
	if r.StormsPerDay == 0 {
		return nil
	}
	random := rand.New(rand.NewPCG(r.Seed, math.MaxUint64)) // reproducible on purpose
	for n := 0.0; n < float64(r.Steps)/stepsPerDay*r.StormsPerDay; n++ {
		steps = append(steps, int((n+random.Float64())/r.StormsPerDay*stepsPerDay))
	}
	return steps
}

// stormSteps is the duration of a storm.
const stormSteps = 3

// groupLoad holds the values shared by the series of a group.
type groupLoad struct {
	// levels holds the mean of each step; deployments change it.
	levels []float64
	// deploys holds the steps of the deployments.
	deploys []int
	// leak is the number of percentage points by which memory grows per step until it is
	// restarted.
	leak float64
	base float64
}

func newGroupLoad(r *Recipe, n int, storms []int) groupLoad {
	random := rand.New(rand.NewPCG(r.Seed, uint64(n)<<1))
	level, wave, phase := 5+45*random.Float64(), random.Float64(), random.Float64()
	group := groupLoad{levels: make([]float64, r.Steps), base: 20 + 40*random.Float64()}
	if random.Float64()*100 < r.LeakPercent {
		group.leak = 0.1 + 0.3*random.Float64()
	}
	for _, storm := range storms {
		if step := storm + random.IntN(stormSteps); random.Float64()*100 < r.StormPercent && step < r.Steps {
			group.deploys = append(group.deploys, step)
		}
	}
	for step := range group.levels {
		if slices.Contains(group.deploys, step) {
			level = 5 + 45*random.Float64()
		}
		angle := 2 * math.Pi * (float64(step)/stepsPerDay + phase)
		group.levels[step] = level * (1 + 0.8*wave*math.Sin(angle))
	}
	return group
}

func (g *groupLoad) cpu(r *Recipe, random *rand.Rand) []float32 {
	series := make([]float32, len(g.levels))
	scale, noise, burst := 0.5+random.Float64(), 0.0, 0
	for step, level := range g.levels {
		if random.Float64() < r.BurstsPerDay/stepsPerDay {
			burst = 1 + random.IntN(12)
		}
		noise = 0.7*noise + 0.15*random.NormFloat64()
		value := level * scale * (1 + noise)
		if burst > 0 {
			burst--
			value = 90 + 10*random.Float64()
		}
		series[step] = float32(min(max(value, 0.5), 100))
	}
	return series
}

func (g *groupLoad) memory(cpu []float32, random *rand.Rand) []float32 {
	series := make([]float32, len(cpu))
	used, leaked := g.base*(0.7+0.6*random.Float64()), 0.0
	for step := range cpu {
		used = 0.98*used + 0.02*(g.base+0.3*float64(cpu[step]))
		if leaked += g.leak; used+leaked > 95 {
			leaked = 0
		}
		series[step] = float32(min(max(used+leaked, 1), 100))
	}
	return series
}
