package forecast

import (
	"testing"
	"time"
)

// A burst in each period is predicted at the right time, whatever period a
// policy sets.
func TestPeriodsOfAnyLength(t *testing.T) {
	for _, period := range []time.Duration{5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute, time.Hour, 90 * time.Minute, 24 * time.Hour} {
		t.Run(period.String(), func(t *testing.T) {
			clock, length := Clock{Period: period}, int64(period.Seconds())
			if parts := Parts * clock.Length(); parts != period {
				t.Errorf("its parts make up %v", parts)
			}
			// There is a burst in the first eighth of each period.
			used := func(second int64) int64 {
				if second%length < length/8 {
					return 900
				}
				return 100
			}
			var r Recurrence
			end := 12 * length
			step := max(length/48/5, 1)
			for second := int64(0); second < end; second += step {
				r.Add(clock.Part(second), used(second))
			}
			r.Finish(clock.Part(end), 0)
			p := r.Pattern()
			if !p.Recurs() {
				t.Errorf("after 12 periods it does not recur (off %v, spread %v, within %v)", p.Off, p.Spread, p.Within)
			}
			wrong := int64(0)
			for second := end; second < end+length; second++ { // the next period
				if foreseen := p.Means[clock.Part(second)%Parts] > 500; foreseen != (used(second) > 500) {
					wrong++
				}
			}
			if share := float64(wrong) / float64(length); share > 0.05 {
				t.Errorf("for %.0f%% of the next period, it expects a burst that does not happen, or none although one does", 100*share)
			}
		})
	}
}

// A clock set before 1970 breaks nothing.
func TestTimesBefore1970(t *testing.T) {
	var r Recurrence
	days(&r, 0, 3, burst(600))
	if ahead := r.Pattern().Ahead(daily, time.Time{}); ahead != r.Pattern().Ahead(daily, time.Unix(0, 0)) {
		t.Errorf("it expects %v", ahead)
	}
	if got := (PodPattern{Pattern: r.Pattern()}).At(daily.Part(time.Time{}.Unix())); got != 100 {
		t.Errorf("it expects %v", got)
	}
}

// A part that was never measured is not expected to use nothing.
func TestPartsThatWereNeverSeen(t *testing.T) {
	var r Recurrence
	for minute := 0; minute < 4*1440; minute += 5 {
		if of := minute % 1440; of >= 120 && of < 240 { // nothing is measured from two to four
			continue
		}
		r.Add(daily.Part(int64(minute)*60), 500)
	}
	r.Finish(daily.Part(4*86400), 0)
	p := r.Pattern()
	if !p.Recurs() {
		t.Skip("it does not recur")
	}
	near(t, "the mean of a quarter at two", p.Ahead(daily, time.Unix(10*86400+120*60, 0)).means[0], 500, 1)
	near(t, "the mean", float32(p.Mean()), 500, 1)
}
