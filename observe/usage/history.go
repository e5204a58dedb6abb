package usage

import (
	"slices"
	"time"
)

// value is one sample of a node's metric in 8 bytes.
type value struct {
	second uint32
	value  float32
}

func (v value) stamp() uint32 { return v.second }

// history keeps one metric of one node: single samples for windows of up to sampleReach,
// and five-minute means for longer windows and for KindMaxAvg.
type history struct {
	samples, means ring[value]
	// sum and count accumulate the mean of the current five-minute bucket.
	bucket uint32
	sum    float64
	count  int
}

// limits holds the lengths of the rings: two of a history and one of a pod.
type limits struct{ samples, means, pod int }

// limitsFor returns how many samples, one per interval, and means the windows
// need.
func limitsFor(windows []Window, interval time.Duration) limits {
	reach, means := Avg5m.Over, time.Duration(0)
	for _, w := range windows {
		if w.ofSamples() {
			reach = max(reach, w.Over)
		} else {
			means = max(means, w.Over)
		}
	}
	return limits{samples: int(reach/interval) + 2, means: int(means / meanLength), pod: int(Avg5m.Over/interval) + 2}
}

// ofSamples reports whether a window is computed from single samples.
func (w Window) ofSamples() bool { return w.Kind != KindMaxAvg && w.Over <= sampleReach }

// push adds a sample. A sample that is not newer than the newest one is ignored.
func (h *history) push(v value, most limits) {
	if !h.samples.push(v.second, v, most.samples) || most.means == 0 {
		return
	}
	bucket := v.second / uint32(meanLength/time.Second)
	if bucket != h.bucket && h.count > 0 {
		begin := h.bucket * uint32(meanLength/time.Second)
		h.means.push(begin, value{begin, float32(h.sum / float64(h.count))}, most.means)
		h.sum, h.count = 0, 0
	}
	h.bucket, h.sum, h.count = bucket, h.sum+float64(v.value), h.count+1
}

// window computes a window that ends at second now, sorting in scratch. If the window
// contains no sample, it returns the newest sample, because callers have checked that
// this is fresh. It returns false if there is no sample at all.
func (h *history) window(w Window, now uint32, scratch *[]float32) (float64, bool) {
	newest, ok := h.samples.newest()
	since := now - min(now, uint32(w.Over/time.Second))
	if !ok || w.Kind == KindLast || newest.second < since {
		return float64(newest.value), ok
	}
	values := (*scratch)[:0]
	collect := func(v value) { values = append(values, v.value) }
	switch {
	case w.ofSamples():
		samplesSince(&h.samples, since, collect)
	case w.Kind == KindMaxAvg:
		// Use the last five minutes rather than the bucket that has just begun, because a
		// single sample is not a mean.
		recent := newest.second - min(newest.second, uint32(meanLength/time.Second))
		samplesSince(&h.samples, recent, collect)
		values = append(values[:0], float32(sumUp(Avg5m, values)))
		samplesSince(&h.means, since, collect)
	default:
		samplesSince(&h.means, since, collect)
		values = append(values, float32(h.sum/float64(h.count))) // at least the newest sample
	}
	*scratch = values
	return sumUp(w, values), true
}

func sumUp(w Window, values []float32) float64 {
	switch {
	case len(values) == 0:
		return 0
	case w.Kind == KindMaxAvg:
		return float64(slices.Max(values))
	case w.Kind == KindQuantile:
		return float64(quantile(values, int(w.Percentile)))
	}
	sum := 0.0
	for _, v := range values {
		sum += float64(v)
	}
	return sum / float64(len(values))
}

// quantile returns the lower quantile, so that no outlier can become the median
// of an even number of samples. It sorts values.
func quantile(values []float32, percentile int) float32 {
	slices.Sort(values)
	return values[(len(values)-1)*percentile/100]
}
