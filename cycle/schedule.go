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

// Due yields whenever the schedule is due until the context ends. Cycles never overlap:
// those that fall due while one runs are skipped. If the clock is set back, Due does not
// wait for it to catch up. It calls alive at least every minute, so that a long wait is
// not taken for a hang.
func Due(ctx context.Context, schedule Schedule, now func() time.Time, alive func()) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		due := now()
		if _, steps := schedule.(Every); !steps {
			due = schedule.Next(now())
		}
		for waitUntil(ctx, schedule, due, now, alive) && yield(due) {
			due = schedule.Next(now())
		}
	}
}

func waitUntil(ctx context.Context, schedule Schedule, due time.Time, now func() time.Time, alive func()) bool {
	for {
		alive()
		if next := schedule.Next(now()); next.Before(due) {
			due = next // the clock was set back
		}
		left := due.Sub(now())
		if left <= 0 {
			return ctx.Err() == nil
		}
		timer := time.NewTimer(min(left, time.Minute))
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}
