package usage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// ramp adds a sample every step seconds up to second last, inclusive. of returns the values.
func ramp(h *history, most limits, step, last uint32, of func(second uint32) float32) {
	for second := step; second <= last; second += step {
		h.push(value{second, of(second)}, most)
	}
}

// Windows are computed here from single samples or, if they reach further back, from five-minute
// means.
func TestWindowsOverHistory(t *testing.T) {
	const day = 24 * 3600
	flat := func(v float32) func(uint32) float32 { return func(uint32) float32 { return v } }
	between := func(from, to uint32, inside, outside float32) func(uint32) float32 {
		return func(second uint32) float32 {
			if second >= from && second < to {
				return inside
			}
			return outside
		}
	}
	rising := func(second uint32) float32 { return float32(second) }
	cases := map[string]struct {
		window    string
		step, now uint32
		of        func(uint32) float32
		want      float64
	}{
		"the newest":                                   {"last", 15, 600, rising, 600},
		"the mean of five minutes":                     {"avg_5m", 15, 600, rising, 450}, // (300 + 600) / 2, both ends included
		"the mean of the available samples":            {"avg_5m", 15, 60, rising, 37.5}, // 15, 30, 45, 60
		"the mean over a minute":                       {"avg_1m", 15, 600, rising, 570},
		"the mean over an hour":                        {"avg_1h", 15, 7200, rising, 5400},
		"the mean over two hours, from means":          {"avg_2h", 15, 4 * 3600, flat(7), 7},
		"the median of five minutes":                   {"p50_5m", 15, 600, rising, 450},
		"the lower of the two middle samples":          {"p50_1m", 15, 60, rising, 30}, // 15, 30, 45, 60
		"a percentile over an hour":                    {"p95_1h", 15, 7200, rising, 7020},
		"the least percentile":                         {"p1_1h", 15, 7200, rising, 3630},
		"the highest percentile is no max":             {"p99_5m", 15, 600, rising, 585},
		"a percentile over a day, from means":          {"p50_1d", 300, day, between(0, 6*3600, 100, 20), 20},
		"a quarter of the day is p75":                  {"p80_1d", 300, day, between(0, 6*3600, 100, 20), 100},
		"the highest mean within an hour":              {"max_avg_1h", 15, 7200, between(4500, 4800, 90, 10), 90},
		"a one-minute spike is not a mean":             {"max_avg_1h", 15, 7200, between(4560, 4620, 110, 10), 30}, // 4 of 20 samples
		"a spike that has just begun":                  {"max_avg_1h", 15, 7215, between(7215, 7230, 220, 10), 20}, // 1 of 21 samples
		"half a mean in the first minutes":             {"max_avg_1h", 15, 150, flat(40), 40},
		"samples from before the hour no longer count": {"max_avg_1h", 15, 7200, between(1800, 3300, 90, 10), 10},
		"the highest mean within a day":                {"max_avg_1d", 15, day, between(3600, 3900, 90, 10), 90},
		"a day of samples each 5 s":                    {"max_avg_1d", 5, day, between(3600, 3900, 90, 10), 90},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := window(t, tc.window)
			most := limitsFor([]Window{Last, Avg5m, w}, time.Duration(tc.step)*time.Second)
			var h history
			ramp(&h, most, tc.step, tc.now, tc.of)
			var scratch []float32
			if got, ok := h.window(w, tc.now, &scratch); !ok || got != tc.want {
				t.Errorf("%s is %v, %v; want %v", w, got, ok, tc.want)
			}
		})
	}
}

// A history without samples has no window. If all samples are older than a window, the window holds
// the newest one, because the caller has accepted that age.
func TestWindowsWithoutSamples(t *testing.T) {
	for _, name := range []string{"last", "avg_1m", "avg_5m", "p50_5m", "p95_1h", "max_avg_1h", "max_avg_1d", "avg_1d"} {
		t.Run(name, func(t *testing.T) {
			w, scratch, h := window(t, name), []float32{}, history{}
			most := limitsFor([]Window{w}, 15*time.Second)
			if got, ok := h.window(w, 4000, &scratch); ok {
				t.Errorf("nothing reads %v", got)
			}
			h.push(value{100, 3}, most)
			h.push(value{115, 5}, most)
			if got, ok := h.window(w, 115+uint32(w.Over/time.Second)+1, &scratch); !ok || got != 5 {
				t.Errorf("read %v, %v; want the newest, 5", got, ok)
			}
		})
	}
}

// However many samples arrive, a history holds no more of them than its windows need.
func TestHistoryIsBounded(t *testing.T) {
	cases := map[string]struct {
		windows  []string
		interval time.Duration
		pace     uint32 // seconds
		want     limits
	}{
		"the windows that every view has": {nil, 15 * time.Second, 15, limits{samples: 22, pod: 22}},
		"each 5 s":                        {nil, 5 * time.Second, 5, limits{samples: 62, pod: 62}},
		"each 5 s, all day":               {[]string{"p95_1h", "max_avg_1d"}, 5 * time.Second, 5, limits{samples: 722, means: 288, pod: 62}},
		"three times as many as expected": {[]string{"max_avg_1h"}, 15 * time.Second, 5, limits{samples: 22, means: 12, pod: 22}},
		"one each five minutes":           {[]string{"p95_1d"}, 5 * time.Minute, 300, limits{samples: 3, means: 288, pod: 3}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store := newStore(t, wanting(t, tc.windows...), func(c *Config) { c.SampleInterval = tc.interval })
			if diff := cmp.Diff(tc.want, store.limits, cmp.AllowUnexported(limits{})); diff != "" {
				t.Fatalf("limits (-want +got):\n%s", diff)
			}
			var h history
			var pod podRing
			for second := tc.pace; second <= 25*3600; second += tc.pace {
				h.push(value{second, 1}, store.limits)
				pod.push(point{second: second}, store.limits.pod)
				if len(h.samples.samples) > tc.want.samples || len(h.means.samples) > tc.want.means || len(pod.samples) > tc.want.pod {
					t.Fatalf("second %d: %d samples, %d means, %d of a pod", second, len(h.samples.samples), len(h.means.samples), len(pod.samples))
				}
			}
			if got := (limits{len(h.samples.samples), len(h.means.samples), len(pod.samples)}); got != tc.want {
				t.Errorf("kept %+v after a day, want them full: %+v", got, tc.want)
			}
			if cap(h.samples.samples) > tc.want.samples || cap(h.means.samples) > tc.want.means || cap(pod.samples) > tc.want.pod {
				t.Errorf("capacity for %d samples, %d means, %d of a pod", cap(h.samples.samples), cap(h.means.samples), cap(pod.samples))
			}
		})
	}
}

// The spans of queried history fill every window: first with means for the longest ones, then with
// samples.
func TestSpans(t *testing.T) {
	cases := map[string]struct {
		windows []string
		want    []Span
	}{
		"the windows that every view has": {nil, []Span{{5 * time.Minute, 15 * time.Second}}},
		"an hour of samples":              {[]string{"p95_1h"}, []Span{{time.Hour, 15 * time.Second}}},
		"a day of means": {[]string{"max_avg_1h", "max_avg_1d"}, []Span{
			{24 * time.Hour, 5 * time.Minute}, {5 * time.Minute, 15 * time.Second},
		}},
		"both": {[]string{"p50_30m", "p99_3h"}, []Span{{3 * time.Hour, 5 * time.Minute}, {30 * time.Minute, 15 * time.Second}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, newStore(t, wanting(t, tc.windows...)).Spans()); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
		})
	}
}

// History covers only nodes. It fills their windows, so that the first live sample is judged
// against a whole day.
func TestPastThenLive(t *testing.T) {
	store, snapshot := newStore(t, wanting(t, "max_avg_1d", "p50_5m")), snapshotOf(nodeWith("n1", aPod("a")))
	const now = 24 * 3600
	for _, span := range store.Spans() {
		for second := now - int(span.Since/time.Second); second < now; second += int(span.Step / time.Second) {
			if span.Step == meanLength && second >= now-300 {
				break
			}
			used := amounts(4000, 4000)
			if second < 3600 {
				used = amounts(20_000, 8000)
			}
			store.Ingest(snapshot, readAt(second).node("n1", used).Batch)
		}
	}
	got := node1(store, snapshot, now)
	if !got.Known() || got.System != (amounts(0, 0)) || got.Pods[0].Measured {
		t.Errorf("after the past: %q, system %v, pod %+v; want it known, and nothing of pods", got.Unknown, got.System, got.Pods[0])
	}
	if diff := cmp.Diff(got.Measured, got.Predicted); diff != "" {
		t.Errorf("predicted without pods (-measured +predicted):\n%s", diff)
	}
	store.Ingest(snapshot, readAt(now).node("n1", amounts(6000, 4000)).pod("a", amounts(1000, 1000)).Batch)
	got = node1(store, snapshot, now)
	// 20 samples of 4000m and one of 6000m; the highest mean of the day was long ago
	average := (20*amounts(4000, 0)[0] + 6000) / 21
	for w, want := range []int64{6000, average, 20_000, 4000} {
		if got.Measured[w][0] != want {
			t.Errorf("%s is %dm, want %dm", store.windows[w], got.Measured[w][0], want)
		}
	}
	if got.System != amounts(5000, 3000) || !got.Sampled.Equal(at(now)) || got.Age != 0 {
		t.Errorf("system %v sampled at %v, %v old; want it of the live sample", got.System, got.Sampled, got.Age)
	}
}
