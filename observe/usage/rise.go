package usage

import "time"

// Rise describes how a node's memory has risen over the duration Config.Rise,
// according to its unadjusted samples.
type Rise struct {
	// Lowest is the lowest of the samples, in bytes.
	Lowest int64
	// BytesPerMinute is the rate at which memory rises: the lower of the rates in the
	// first and second half of the duration, so that a single step does not count.
	BytesPerMinute float64
}

// rise returns how a metric rises over a duration. It returns zero if the
// metric does not rise, or if there are fewer than three samples or they span
// less than three quarters of the duration. It collects the samples in scratch.
func (h *history) rise(now uint32, over time.Duration, scratch *[]value) Rise {
	if over <= 0 {
		return Rise{}
	}
	samples := (*scratch)[:0]
	span := samplesSince(&h.samples, now-min(now, uint32(over/time.Second)), func(v value) { samples = append(samples, v) })
	*scratch = samples
	if len(samples) < 3 || span < over*3/4 {
		return Rise{}
	}
	first, middle, last := samples[0], samples[len(samples)/2], samples[len(samples)-1]
	rate := min(perMinute(first, middle), perMinute(middle, last))
	if rate <= 0 {
		return Rise{}
	}
	lowest := first.value
	for _, s := range samples {
		lowest = min(lowest, s.value)
	}
	return Rise{Lowest: int64(lowest), BytesPerMinute: rate}
}

func perMinute(from, to value) float64 {
	return float64(to.value-from.value) / (time.Duration(to.second-from.second) * time.Second).Minutes()
}
