package cycle

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule determines when the next cycle is due, in the process's time zone.
type Schedule interface {
	// Next returns when the next cycle is due after now.
	Next(now time.Time) time.Time
}

// Every is a Schedule with a fixed interval from the end of one cycle to the
// start of the next. The first cycle is due at once.
type Every time.Duration

// Next implements Schedule.
func (e Every) Next(now time.Time) time.Time { return now.Add(time.Duration(e)) }

// ParseSchedule parses a cron expression of five fields, with the descriptors
// and the CRON_TZ= prefix of robfig/cron.
func ParseSchedule(expression string) (Schedule, error) {
	schedule, err := cron.ParseStandard(expression)
	if err != nil {
		return nil, fmt.Errorf("reading schedule %q: %w", expression, err)
	}
	if schedule.Next(time.Now()).IsZero() {
		return nil, fmt.Errorf("reading schedule %q: it matches no day within five years", expression)
	}
	return schedule, nil
}

// Due yields an Event whenever a cycle is due, until the context ends. Cycles never
// overlap: those that fall due while one runs are skipped. Events start additional
// cycles, which do not change the schedule. events is nil for a cron schedule, because
// cron expressions list the only times at which cycles may run. If the clock is set back,
// Due does not wait for it to catch up. It calls alive at least every minute, so that a
// long wait is not taken for a hang.
func Due(ctx context.Context, schedule Schedule, events *Events, now func() time.Time, alive func()) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		due, last := now(), time.Time{}
		if _, steps := schedule.(Every); !steps {
			due = schedule.Next(now())
		}
		for {
			why, over := waitUntil(ctx, schedule, events, due, last, now, alive)
			if over {
				return
			}
			last = now()
			events.begun(why.Cause)
			if !yield(why) {
				return
			}
			if why.Cause == Scheduled {
				due = schedule.Next(now())
				continue
			}
			_, settle := events.first()
			for due.Before(now()) || due.Before(last.Add(settle)) {
				due = schedule.Next(due) // that cycle replaced one
			}
		}
	}
}

func waitUntil(ctx context.Context, schedule Schedule, events *Events, due, last time.Time, now func() time.Time, alive func()) (why Event, over bool) {
	for {
		alive()
		at := now()
		event, settle := events.first()
		if next := schedule.Next(at.Add(settle)); next.Before(due) {
			due = next // the clock was set back
		}
		if last.After(at) {
			last = at // the same applies to last
		}
		start, why := begins(due, event, last, settle)
		left := start.Sub(at)
		if left <= 0 {
			return why, ctx.Err() != nil
		}
		if !events.wait(ctx, min(left, time.Minute)) {
			return why, true
		}
	}
}

// begins returns when the next cycle starts, and why. It starts when it is due, or
// earlier because of an event, but not before settle has passed since the start of the
// last one. The first cycle starts without waiting for an event.
func begins(due time.Time, event Event, last time.Time, settle time.Duration) (time.Time, Event) {
	if early := last.Add(settle); event.Cause != "" && !last.IsZero() && early.Before(due) {
		return early, event
	}
	return due, Event{Cause: Scheduled}
}
