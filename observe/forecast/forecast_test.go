package forecast

import (
	"math"
	"math/rand/v2"
	"testing"
)

// minute feeds a trend one sample per minute.
func minute(t *Trend, from, to int, used func(minute int) int64) {
	for m := from; m < to; m++ {
		t.Add(uint32(60*(m+1)), used(m))
	}
}

func level(v int64) func(int) int64 { return func(int) int64 { return v } }

func near(t *testing.T, what string, got float32, want, by float64) {
	t.Helper()
	if math.Abs(float64(got)-want) > by {
		t.Errorf("%s is %v, want %v to within %v", what, got, want, by)
	}
}

// Each of these series has a known forecast.
func TestTrend(t *testing.T) {
	t.Run("nothing", func(t *testing.T) {
		var trend Trend
		if got := trend.Expect(); got != (Expected{}) {
			t.Errorf("%v is expected of what was never measured", got)
		}
	})
	t.Run("a single sample lasts", func(t *testing.T) {
		var trend Trend
		trend.Add(7, 300)
		if got := trend.Expect(); got != Constant(300) {
			t.Errorf("%v", got)
		}
	})
	t.Run("a constant has no variance", func(t *testing.T) {
		var trend Trend
		minute(&trend, 0, 600, level(250))
		if got := trend.Expect(); got != Constant(250) {
			t.Errorf("%v", got)
		}
	})
	t.Run("early samples weigh alike", func(t *testing.T) {
		var trend Trend
		for i := range 10 { // one every five minutes, the time that a sample covers
			trend.Add(uint32(300*(i+1)), int64(100*i))
		}
		near(t, "the mean of four hours", trend.Expect()[2].Mean, 450, 30)
	})
	t.Run("a peak counts for minutes", func(t *testing.T) {
		var trend Trend
		minute(&trend, 0, 1440, level(100))
		minute(&trend, 1440, 1455, level(1100))
		e := trend.Expect()
		near(t, "the next quarter", e[0].Mean, 100+1000*(1-math.Exp(-1)), 5)
		near(t, "the rest of the hour", e[1].Mean, 100+1000*(1-math.Exp(-0.25)), 5)
		near(t, "the rest of four hours", e[2].Mean, 100+1000*(1-math.Exp(-0.0625)), 5)
	})
	t.Run("noise has its variance", func(t *testing.T) {
		var trend Trend
		rng := rand.New(rand.NewPCG(1, 2))
		minute(&trend, 0, 14400, func(int) int64 { return 1000 + int64(100*rng.NormFloat64()) })
		e := trend.Expect()
		near(t, "the mean", e[2].Mean, 1000, 20)
		near(t, "the deviation", float32(math.Sqrt(float64(e[2].Variance))), 100, 15)
		if e[2].Drift >= e[2].Variance/4 {
			t.Errorf("means of 15 minutes vary by %v, single samples by %v", e[2].Drift, e[2].Variance)
		}
	})
	t.Run("what is not newer is ignored", func(t *testing.T) {
		var trend, same Trend
		minute(&trend, 0, 10, level(100))
		minute(&same, 0, 10, level(100))
		trend.Add(60, 9000)
		trend.Add(600, 9000)
		if trend != same {
			t.Errorf("%v, without them %v", trend, same)
		}
	})
}

// loadOf returns the load of the given number of pods with the same series.
func loadOf(pods int, trend *Trend) (l Load) {
	for range pods {
		l.Add(trend.Expect())
	}
	return l
}

func TestHotMinutes(t *testing.T) {
	for name, tc := range map[string]struct {
		load     func() Load
		from, to float64 // of 240 minutes
		weighted float64
	}{
		"far below":  {func() Load { var l Load; l.Shift(400); return l }, 0, 0, 0},
		"20% above":  {func() Load { var l Load; l.Shift(850); return l }, 240, 240, 480},
		"30% above":  {func() Load { var l Load; l.Shift(950); return l }, 240, 240, 600},
		"at line":    {func() Load { var l Load; l.Shift(650); return l }, 119, 121, 120},
		"at 110%":    {func() Load { var l Load; l.Shift(1100); return l }, 479, 481, 480 + 240*45/20},
		"negative":   {func() Load { var l Load; l.Shift(-500); return l }, 0, 0, 0},
		"overflowed": {func() Load { var l Load; l.Shift(math.MinInt64); return l }, 0, 0, 0},
		"varies around": {func() Load {
			var l Load
			l.Shift(650)
			l.Correlate(Expected{{Variance: 4e4}, {Variance: 4e4}, {Variance: 4e4}})
			return l
		}, 119, 137, 128.3},
	} {
		t.Run(name, func(t *testing.T) {
			l := tc.load()
			if got := l.HotMinutes(650, 1000); !(got >= tc.from && got <= tc.to+1e-5) {
				t.Errorf("%v minutes, want %v to %v", got, tc.from, tc.to)
			}
			if got := l.WeightedHotMinutes(650, 1000); math.Abs(got-tc.weighted) > 1 {
				t.Errorf("they count as %v, want %v", got, tc.weighted)
			}
		})
	}
	var none Load
	if got := none.HotMinutes(0, 0); math.IsNaN(got) {
		t.Error("NaN for a node of no size")
	}
}

// A node whose usage often rises this far above its level is expected to return. A node whose usage
// rises further than ever is expected to stay.
func TestStays(t *testing.T) {
	last := Spans - 1
	var step Trend
	minute(&step, 0, 1440, level(40))
	minute(&step, 1440, 1450, level(80))
	l := loadOf(10, &step)
	if got := l.Stays(1000)[last]; got != 1 {
		t.Errorf("of a step after a quiet day %v is believed to stay, want all", got)
	}
	after := l.Toward(l.Stays(1000))
	if got, now := after.Lasting(), int64(l[0].mean); got != now {
		t.Errorf("%d is expected in four hours, want %d as now", got, now)
	}
	var often Trend
	burst := func(m int) int64 {
		if m%60 < 15 {
			return 80
		}
		return 40
	}
	minute(&often, 0, 1440+10, burst)
	l = loadOf(10, &often)
	var node Trend
	minute(&node, 0, 1440+10, func(m int) int64 { return 10 * burst(m) })
	l.Correlate(node.Expect())
	if got := l.Stays(1000)[last]; got != 0 {
		t.Errorf("of a burst that comes every hour %v is believed to stay, want nothing", got)
	}
	var down Trend
	minute(&down, 0, 1440, level(80))
	minute(&down, 1440, 1450, level(40))
	l = loadOf(10, &down)
	if got := l.Stays(1000)[last]; got != 0 {
		t.Errorf("of a drop %v is believed to stay: it is no reason to expect less", got)
	}
}

// Spikes of several pods that happen to follow each other are expected to end
// with the last of them, however long the node was quiet before. After 20
// minutes, a step is partly expected to last.
func TestSpikesDoNotStay(t *testing.T) {
	const pods, base, whole, quiet = 20, 18, 1000, 24 * 12
	for name, tc := range map[string]struct {
		used            func(pod, sample int) int64 // samples count from the end of the quiet day
		samples         int
		atLeast, atMost float64
	}{
		"one spike":                {func(pod, sample int) int64 { return times(8, pod == sample) }, 1, 0, 0},
		"a spike that is over":     {func(pod, sample int) int64 { return times(8, pod == sample && pod == 0) }, 2, 0, 0},
		"three spikes in a row":    {func(pod, sample int) int64 { return times(8, pod == sample) }, 3, 0, 0},
		"pairs of spikes in a row": {func(pod, sample int) int64 { return times(8, pod/2 == sample) }, 3, 0, 0},
		"three spikes, one apart":  {func(pod, sample int) int64 { return times(8, sample%2 == 0 && pod == sample) }, 5, 0, 0},
		"a step of one pod":        {func(pod, _ int) int64 { return times(20, pod == 0) }, 5, 0.5, 1},
		"a step of all":            {func(_, _ int) int64 { return times(2, true) }, 5, 0.5, 1},
		"a step of all, still new": {func(_, _ int) int64 { return times(2, true) }, 4, 0.3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var load Load
			var node Trend
			trends := make([]Trend, pods)
			for sample := range quiet + tc.samples {
				total := int64(0)
				for i := range trends {
					used := int64(base)
					if sample >= quiet {
						used *= tc.used(i, sample-quiet)
					}
					trends[i].Add(uint32(sampleSeconds*(sample+1)), used)
					total += used
				}
				node.Add(uint32(sampleSeconds*(sample+1)), total)
			}
			for i := range trends {
				load.Add(trends[i].Expect())
			}
			load.Correlate(node.Expect())
			if got := load.Stays(whole)[Spans-1]; got < tc.atLeast || got > tc.atMost {
				t.Errorf("%.2f of it is believed to stay, want %v to %v", got, tc.atLeast, tc.atMost)
			}
		})
	}
}

// times returns the multiple of its base usage that a pod uses.
func times(factor int64, spikes bool) int64 {
	if spikes {
		return factor
	}
	return 1
}

// Whatever is measured, no expected value is negative or NaN. Removing a pod that was added
// restores the load.
func FuzzForecast(f *testing.F) {
	f.Add(uint64(1), int64(100), uint32(60))
	f.Add(uint64(2), int64(math.MaxUint32), uint32(math.MaxUint32/2))
	f.Fuzz(func(t *testing.T, seed uint64, most int64, gap uint32) {
		rng := rand.New(rand.NewPCG(seed, 3))
		most = min(max(most, 1), math.MaxUint32)
		var load Load
		var pods []Expected
		for range 5 {
			var trend Trend
			second := uint32(1)
			for range 100 {
				trend.Add(second, rng.Int64N(most))
				second += 1 + rng.Uint32N(max(gap, 1))
			}
			e := trend.Expect()
			for _, m := range e {
				for _, v := range []float32{m.Mean, m.Variance, m.Drift} {
					if !(v >= 0) || math.IsInf(float64(v), 0) {
						t.Fatalf("%v is expected", e)
					}
				}
				if float64(m.Mean) > float64(most)*1.001 {
					t.Fatalf("%v is expected, though never more than %d was used", m.Mean, most)
				}
			}
			load.Add(e)
			pods = append(pods, e)
		}
		line, whole := rng.Int64N(most), 1+rng.Int64N(most)
		stays := load.Stays(whole)
		minutes := load.HotMinutes(line, whole)
		for s, believed := range stays {
			if !(believed >= 0 && believed <= 1) {
				t.Fatalf("%v of span %d is believed to stay", believed, s)
			}
		}
		if !(minutes >= 0) || math.IsInf(minutes, 0) {
			t.Fatalf("hot for %v minutes", minutes)
		}
		toward := load.Toward(stays)
		if more := toward.HotMinutes(line, whole); !(more >= minutes-1e-6) {
			t.Fatalf("hot for %v minutes if it stays as it is, and %v if it goes back", more, minutes)
		}
		if weighted := load.WeightedHotMinutes(line, whole); !(weighted >= minutes) || math.IsInf(weighted, 0) {
			t.Fatalf("%v hot minutes count as %v", minutes, weighted)
		}
		for _, e := range pods {
			load.Remove(e)
		}
		for s := range load {
			if math.Abs(load[s].mean) > 1e-3*float64(most) || load[s].variance < 0 || load[s].drift < 0 {
				t.Fatalf("without its pods a node is expected to use %v", load)
			}
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	var trend Trend
	second := uint32(0)
	for b.Loop() {
		second += 15
		trend.Add(second, int64(second%977))
	}
}

func BenchmarkHotMinutes(b *testing.B) {
	var trend Trend
	minute(&trend, 0, 100, func(m int) int64 { return int64(100 * m) })
	l := loadOf(30, &trend)
	for b.Loop() {
		l.HotMinutes(20000, 32000)
	}
}
