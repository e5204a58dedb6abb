package calendar

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"
	"time"

	"github.com/robfig/cron/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/policy/check"
)

// MinDuration and MaxDuration bound the length of a period. The longer a period may be,
// the further back its starts matter.
const (
	MinDuration = time.Minute
	MaxDuration = 7 * day
)

// recurrence is a parsed Period.
type recurrence struct {
	name     string
	duration time.Duration
	zone     *time.Location
	// days fires at midnight of each day on which the period begins.
	days *cron.SpecSchedule
	// begins holds the wall times at which the period starts on such a day, counted from
	// midnight.
	begins []time.Duration
	// runs holds the spans on such a day, counted from midnight, provided that no clock
	// changes.
	runs []run
}

// run is a part of a day that successive spans of one period cover without a gap.
type run struct{ begin, end time.Duration }

// span is the time from begin until just before end.
type span struct{ begin, end time.Time }

func newRecurrence(p *Period) (*recurrence, error) {
	spec, err := ParseSchedule(p.Schedule)
	if err != nil {
		return nil, fmt.Errorf("the schedule %w", err)
	}
	zoneName := cmp.Or(p.TimeZone, time.UTC.String())
	zone := check.Location(zoneName)
	if zone == nil {
		return nil, fmt.Errorf("time zone %q is not known", p.TimeZone)
	}
	duration := p.Duration.Duration
	if duration < MinDuration || duration > MaxDuration {
		return nil, fmt.Errorf("the duration must be from %s to %s", MinDuration, MaxDuration)
	}
	days := *spec
	days.Hour, days.Minute = 1<<0, 1<<0
	r := &recurrence{
		name: fmt.Sprintf("%q in %s", p.Schedule, zoneName), duration: duration, zone: zone,
		days: &days, begins: beginsOf(spec),
	}
	for _, begin := range r.begins {
		r.runs = r.addRun(begin)
	}
	return r, nil
}

// beginsOf reads the bit sets of hours and minutes.
func beginsOf(spec *cron.SpecSchedule) []time.Duration {
	var begins []time.Duration
	for hour := range 24 {
		for minute := range 60 {
			if spec.Hour&(1<<hour) != 0 && spec.Minute&(1<<minute) != 0 {
				begins = append(begins, time.Duration(hour)*time.Hour+time.Duration(minute)*time.Minute)
			}
		}
	}
	return begins
}

func (r *recurrence) addRun(begin time.Duration) []run {
	if n := len(r.runs); n > 0 && begin <= r.runs[n-1].end {
		r.runs[n-1].end = begin + r.duration
		return r.runs
	}
	return append(r.runs, run{begin, begin + r.duration})
}

// at reports whether t is in the period. until is when this changes; zero if that is
// after limit.
func (r *recurrence) at(t, limit time.Time) (in bool, until time.Time) {
	until = t
	for s := range r.spans(t, limit) {
		switch {
		case s.begin.After(limit):
			return in, ifIn(in, until)
		case s.begin.After(until) && in:
			return true, until
		case s.begin.After(until):
			return false, s.begin
		case s.end.After(until):
			in, until = true, s.end
		}
		if until.After(limit) {
			return true, time.Time{}
		}
	}
	return in, ifIn(in, until)
}

func ifIn(in bool, until time.Time) time.Time {
	if in {
		return until
	}
	return time.Time{}
}

// spans yields the spans in order, from the first one that ends after t to the first ones
// after limit.
func (r *recurrence) spans(t, limit time.Time) iter.Seq[span] {
	return func(yield func(span) bool) {
		// Start one day earlier, in case clocks are set back across midnight.
		wall := r.dayFrom(wallDayOf(t.Add(-r.duration), r.zone).Add(-day))
		for !wall.IsZero() && wall.Before(limit.Add(2*day)) {
			if !r.ofDay(wall, t, yield) {
				return
			}
			wall = r.dayFrom(wall.Add(day))
		}
	}
}

// dayFrom returns the first day, not before the given one, on which the period begins.
func (r *recurrence) dayFrom(wallDay time.Time) time.Time {
	return r.days.Next(wallDay.Add(-time.Second))
}

// ofDay yields the spans that begin on a day and end after t, and reports whether to continue.
func (r *recurrence) ofDay(wallDay, t time.Time, yield func(span) bool) bool {
	offset, steady := steadyOffset(wallDay, r.zone)
	if !steady {
		return r.ofChangedDay(wallDay, t, yield)
	}
	midnight := wallDay.Add(-offset)
	over := sort.Search(len(r.runs), func(i int) bool { return midnight.Add(r.runs[i].end).After(t) })
	for _, run := range r.runs[over:] {
		if !yield(span{midnight.Add(run.begin), midnight.Add(run.end)}) {
			return false
		}
	}
	return true
}

func (r *recurrence) ofChangedDay(wallDay, t time.Time, yield func(span) bool) bool {
	var begins []time.Time
	for _, begin := range r.begins {
		begins = append(begins, instantsOf(wallDay.Add(begin), r.zone)...)
	}
	slices.SortFunc(begins, time.Time.Compare)
	for _, begin := range begins {
		if end := begin.Add(r.duration); end.After(t) && !yield(span{begin, end}) {
			return false
		}
	}
	return true
}

// Period is a recurring time span, such as every night.
type Period struct {
	// Schedule is when the span begins: a cron expression of five fields
	// (minute, hour, day of the month, month, day of the week) or a shorthand
	// such as @daily. @every is not allowed because it has no fixed times. If
	// clocks are set forward over a start time, the span begins at that
	// moment; if they are set back over it, the span begins twice. Required.
	Schedule string `json:"schedule"`
	// Duration is how long the span lasts, regardless of clock changes: 1m to
	// 168h (one week). Required.
	Duration metav1.Duration `json:"duration"`
	// TimeZone is the IANA name of the schedule's time zone, such as
	// Europe/Berlin. The default is UTC.
	TimeZone string `json:"timeZone,omitempty"`
}
