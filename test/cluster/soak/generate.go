package soak

import (
	"math"
	"math/rand/v2"
)

const (
	// generatedSteps is the number of steps after which generated series repeat.
	generatedSteps = 288
	// dayInSteps is the length of the generator's compressed day. It is short enough for an
	// hour-long run to include a whole day.
	dayInSteps = 48
)

// source returns a separate random stream for each purpose, so that drawing more numbers
// for one purpose does not affect the others.
func source(seed uint64, purpose string) *rand.Rand {
	stream := uint64(14695981039346656037) // FNV-1a
	for _, c := range []byte(purpose) {
		stream = (stream ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, stream))
}

// GenerateCPU generates series of daily waves that peak at different times, with noise
// that lasts some steps, and with bursts.
func GenerateCPU(n int, seed uint64) *Trace {
	random := source(seed, "cpu")
	trace := &Trace{Name: "generated.cpu"}
	for range n {
		base := 6 * math.Exp(random.NormFloat64()) // a few are much busier than most
		swing, peak := 0.1+0.6*random.Float64(), random.Float64()
		noise, burst, left := 0.0, 1.0, 0
		series := make([]float32, generatedSteps)
		for step := range series {
			noise = 0.8*noise + 0.1*random.NormFloat64()
			if left--; left < 0 {
				burst = 1
				if random.Float64() < 0.01 {
					burst, left = 2+2*random.Float64(), 2+random.IntN(7)
				}
			}
			wave := 1 + swing*math.Sin(2*math.Pi*(float64(step)/dayInSteps+peak))
			series[step] = float32(within(base*wave*burst*(1+noise), 0.2, 100))
		}
		trace.Series = append(trace.Series, series)
	}
	return trace
}

// GenerateMemory generates steady series. One in twenty leaks until it is restarted.
func GenerateMemory(n int, seed uint64) *Trace {
	random := source(seed, "memory")
	trace := &Trace{Name: "generated.memory"}
	for i := range n {
		level := 25 + 30*random.Float64()
		leakPerStep, since := 0.0, random.IntN(generatedSteps)
		if i%20 == 19 {
			leakPerStep = 0.3 + 0.7*random.Float64()
		}
		series := make([]float32, generatedSteps)
		for step := range series {
			if level+leakPerStep*float64(since) > 95 {
				since = 0
			}
			series[step] = float32(within(level+leakPerStep*float64(since)+random.NormFloat64(), 1, 100))
			since++
		}
		trace.Series = append(trace.Series, series)
	}
	return trace
}

func within(value, low, high float64) float64 { return min(max(value, low), high) }
