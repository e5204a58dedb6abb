package forecast

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

var daily = Clock{Period: 24 * time.Hour}

// days feeds a recurrence one sample every five minutes, from day from to day to, and returns the
// part that follows.
func days(r *Recurrence, from, to int, used func(day, minute int) int64) {
	for minute := from * 1440; minute < to*1440; minute += 5 {
		r.Add(daily.Part(int64(minute)*60), used(minute/1440, minute%1440))
	}
	r.Finish(daily.Part(int64(to)*86400), 0)
}

// burst returns a usage of 100 for most of the day and of 900 for two hours, starting at minute
// from.
func burst(from int) func(day, minute int) int64 {
	return func(_, minute int) int64 {
		if (minute-from+1440)%1440 < 120 {
			return 900
		}
		return 100
	}
}

func TestRecurs(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	for name, tc := range map[string]struct {
		days int
		used func(day, minute int) int64
		want bool
	}{
		"nothing was seen":            {0, burst(600), false},
		"a burst was seen once":       {1, burst(600), false},
		"a burst has recurred":        {2, burst(600), true},
		"it recurs with noise":        {3, func(d, m int) int64 { return burst(600)(d, m) + int64(20*rng.NormFloat64()) }, true},
		"around midnight":             {2, burst(1400), true},
		"noise alone":                 {6, func(int, int) int64 { return max(500+int64(100*rng.NormFloat64()), 0) }, false},
		"it occurred at another time": {2, func(d, m int) int64 { return burst(300+500*d)(d, m) }, false},
		"it occurs at random":         {6, func(d, m int) int64 { return burst(d*d*397%1440)(d, m) }, false},
		"it has not recurred":         {4, func(d, m int) int64 { return burst(600+1000000*min(d/3, 1))(d, m)*int64(1-d/3) + 100*int64(d/3) }, false},
		"nothing changes":             {3, func(int, int) int64 { return 250 }, true}, // recurs as predicted, but has no effect
		"nothing is used":             {3, func(int, int) int64 { return 0 }, true},
		"it grows from day to day":    {3, func(d, m int) int64 { return int64(1+d) * burst(600)(d, m) }, true}, // predicted too low, but at the right time
		"it drifts by ten minutes":    {4, func(d, m int) int64 { return burst(600+10*d)(d, m) }, true},
		"twice as much on one part":   {3, func(d, m int) int64 { return burst(600)(d, m) + int64(d%2)*50 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			var r Recurrence
			days(&r, 0, tc.days, tc.used)
			if got := r.Pattern().Recurs(); got != tc.want {
				t.Errorf("after %d days it recurs: %v, want %v (off %v, spread %v)", tc.days, got, tc.want, r.Pattern().Off, r.Pattern().Spread)
			}
		})
	}
}

// A pattern holds the mean of each part. A gap of a few hours does not invalidate it, and a Pattern
// that was returned never changes.
func TestPattern(t *testing.T) {
	var r Recurrence
	days(&r, 0, 2, burst(600))
	before := r.Pattern()
	copied := *before
	days(&r, 2, 3, burst(600))
	if *before != copied {
		t.Error("a pattern that was handed out has changed")
	}
	near(t, "the burst", before.Means[600/30+1], 900, 1)
	near(t, "the night", before.Means[2], 100, 1)
	near(t, "the mean", float32(before.Mean()), 100+800*120/1440., 1)
	var missed Recurrence
	for minute := 0; minute < 3*1440; minute += 5 {
		if of := minute % 1440; minute/1440 == 1 && of >= 100 && of < 190 {
			continue
		}
		missed.Add(daily.Part(int64(minute)*60), burst(600)(0, minute%1440))
	}
	missed.Finish(daily.Part(3*86400), 0)
	if !missed.Pattern().Recurs() {
		t.Error("the pattern is forgotten after an hour and a half without samples")
	}
}

// The expected usage of a pod follows its pattern: it includes nothing of a burst before the burst
// starts, and all of it during the burst.
func TestPatternAhead(t *testing.T) {
	var r Recurrence
	days(&r, 0, 3, burst(600))
	at := func(minute int) Expected {
		now := time.Unix(int64(10*1440+minute)*60, 0)
		ahead := r.Pattern().Ahead(daily, now)
		return PodPattern{Pattern: r.Pattern()}.Foresee(Constant(100), &ahead, daily, now)
	}
	near(t, "the quarter before", at(540)[0].Mean, 100, 1)
	near(t, "the hour before", at(570)[1].Mean, 100+800*30/45., 25)
	near(t, "the four hours before", at(480)[2].Mean, 100+800*120/180., 25)
	near(t, "the quarter within", at(630)[0].Mean, 900, 1)
	near(t, "the four hours after", at(720)[2].Mean, 100, 1)
}

func TestCourse(t *testing.T) {
	var r Recurrence
	days(&r, 0, 3, burst(600))
	var c Course
	c.Add(Constant(300), PodPattern{})
	c.Add(Constant(100), PodPattern{Pattern: r.Pattern()})
	if part, peak := c.Peak(); peak != 1200 || part != 600/30 {
		t.Errorf("the peak is %d in part %d, want 1200 in part 20", peak, part)
	}
	got, want := c.HotMinutes(1000, 10_000, daily), 120.0
	if math.Abs(got-want) > 3 {
		t.Errorf("hot for %v minutes, want %v", got, want)
	}
	if got := c.HotMinutes(1600, 10_000, daily); got > 1 {
		t.Errorf("hot for %v minutes above what is ever used", got)
	}
	next := daily.Next(600/30, time.Unix(700*60, 0))
	if want := time.Unix((1440+600)*60, 0); !next.Equal(want) {
		t.Errorf("the next peak begins at %v, want %v", next, want)
	}
	c.Remove(Constant(100), PodPattern{Pattern: r.Pattern()})
	if _, peak := c.Peak(); peak != 300 {
		t.Errorf("without the pod the peak is %d, want 300", peak)
	}
}

// A pod's variation within a part also adds to the chance of being hot. Here, half of a variance of
// 200² puts 900 above 1000 for a quarter of the time. A table of the normal distribution confirms
// that: 0.7071 deviations give 0.2398.
func TestCourseVariesWithinParts(t *testing.T) {
	p := &Pattern{Spread: 1e6, Within: 200 * 200, Periods: 3}
	for part := range p.Means {
		p.Means[part] = 900
	}
	var c Course
	c.Add(Constant(900), PodPattern{Pattern: p})
	if got, want := c.HotMinutes(1000, 10_000, daily), 0.2398*24*60; math.Abs(got-want) > 1 {
		t.Errorf("hot for %.1f minutes, want %.1f", got, want)
	}
}

// Whatever is measured, a pattern is never negative, NaN, or above the highest
// usage.
func FuzzPattern(f *testing.F) {
	f.Add(uint64(1), int64(100), int64(1))
	f.Add(uint64(2), int64(math.MaxUint32), int64(1)<<40)
	f.Fuzz(func(t *testing.T, seed uint64, most, gap int64) {
		rng := rand.New(rand.NewPCG(seed, 5))
		most, gap = min(max(most, 1), math.MaxUint32), min(max(gap, 1), 1<<40)
		var r Recurrence
		part := int64(0)
		for range 300 {
			part += rng.Int64N(gap + 1)
			r.Add(part, rng.Int64N(most))
		}
		r.Finish(part+1, 0)
		p := r.Pattern()
		if p == nil {
			t.Fatal("no pattern after 300 samples")
		}
		for _, v := range append([]float32{p.Off, p.Spread, p.Within}, p.Means[:]...) {
			if !(v >= 0) || math.IsInf(float64(v), 0) {
				t.Fatalf("the pattern is %+v", p)
			}
		}
		var c Course
		c.Add(Constant(1), PodPattern{Pattern: p})
		if m := c.HotMinutes(rng.Int64N(most), 1+rng.Int64N(most), daily); !(m >= 0) || math.IsInf(m, 0) {
			t.Fatalf("hot for %v minutes", m)
		}
		if _, peak := c.Peak(); float64(peak) > float64(most)*1.001+1 {
			t.Fatalf("a peak of %d, though never more than %d was used", peak, most)
		}
		for s, m := range p.Ahead(daily, time.Unix(rng.Int64N(1<<40), 0)).means {
			if !(m >= 0) || float64(m) > float64(most)*1.001+1 {
				t.Fatalf("%v is expected in span %d", m, s)
			}
		}
	})
}

func BenchmarkRecurrence(b *testing.B) {
	var r Recurrence
	second := int64(0)
	for b.Loop() {
		second += 15
		r.Add(daily.Part(second), second%977)
	}
}

func BenchmarkCourseHotMinutes(b *testing.B) {
	var r Recurrence
	days(&r, 0, 3, burst(600))
	var c Course
	for range 30 {
		c.Add(Constant(100), PodPattern{Pattern: r.Pattern()})
	}
	for b.Loop() {
		c.HotMinutes(20_000, 32_000, daily)
	}
}

// If the pods of one owner differ too much, they have no pattern, however well their mean recurs,
// because none of them behaves like the mean.
func TestUnlikePodsDoNotRecur(t *testing.T) {
	for name, tc := range map[string]struct {
		second func(day, minute int) int64
		want   bool
	}{
		"alike":                  {burst(600), true},
		"a fifth more":           {func(d, m int) int64 { return burst(600)(d, m) * 6 / 5 }, true},
		"at another hour":        {burst(1200), false},
		"busy without a pattern": {func(int, int) int64 { return 1500 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			var r Recurrence
			for minute := 0; minute < 4*1440; minute += 5 {
				part := daily.Part(int64(minute) * 60)
				r.Add(part, burst(600)(minute/1440, minute%1440))
				r.Add(part, tc.second(minute/1440, minute%1440))
			}
			r.Finish(daily.Part(4*86400), 0)
			if got := r.Pattern().Recurs(); got != tc.want {
				t.Errorf("it recurs: %v, want %v (off %v, spread %v, within %v)", got, tc.want, r.Pattern().Off, r.Pattern().Spread, r.Pattern().Within)
			}
		})
	}
}

// For spans longer than a period, the period's mean is expected, at no higher cost.
func TestPatternAheadOfShortPeriods(t *testing.T) {
	clock := Clock{Period: 5 * time.Minute}
	var r Recurrence
	for second := int64(0); second < 4*300; second += 5 {
		used := int64(100)
		if second%300 < 75 {
			used = 900
		}
		r.Add(clock.Part(second), used)
	}
	r.Finish(clock.Part(4*300), 0)
	for s, mean := range r.Pattern().Ahead(clock, time.Unix(1200, 0)).means {
		near(t, fmt.Sprintf("the mean of span %d", s), mean, r.Pattern().Mean(), 0.01)
	}
}

func BenchmarkPatternAhead(b *testing.B) {
	var r Recurrence
	days(&r, 0, 3, burst(600))
	for name, period := range map[string]time.Duration{"day": 24 * time.Hour, "5m": 5 * time.Minute} {
		b.Run(name, func(b *testing.B) {
			now := time.Unix(0, 0)
			for b.Loop() {
				now = now.Add(time.Minute)
				r.Pattern().Ahead(Clock{Period: period}, now)
			}
		})
	}
}
