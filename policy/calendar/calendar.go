// Package calendar decides whether a time lies within recurring periods: the windows and
// blackouts of a policy, in their time zones and across clock changes.
package calendar

import (
	"fmt"
	"time"
)

const (
	// calendarReach is how far ahead a Calendar looks.
	calendarReach = 366 * day
	// maxLeaps bounds the number of starts and ends without effect that a Calendar skips.
	// A policy with a hundred periods that almost touch can have a million of them.
	maxLeaps = 500
)

// Calendar determines when evicting is allowed.
type Calendar struct {
	windows, blackouts []*recurrence
}

// New parses the windows and blackouts, which takes longer than a call of Open. An error
// contains the path of the period, such as eviction.windows[0].
func New(windows, blackouts []Period) (*Calendar, error) {
	open, err := recurrences("windows", windows)
	if err != nil {
		return nil, err
	}
	closed, err := recurrences("blackouts", blackouts)
	if err != nil {
		return nil, err
	}
	return &Calendar{windows: open, blackouts: closed}, nil
}

func recurrences(name string, periods []Period) ([]*recurrence, error) {
	list := make([]*recurrence, len(periods))
	for i := range periods {
		r, err := newRecurrence(&periods[i])
		if err != nil {
			return nil, fmt.Errorf("reading eviction.%s[%d]: %w", name, i, err)
		}
		list[i] = r
	}
	return list, nil
}

// Open reports whether evicting is allowed: inside any window, if there are windows, and outside every blackout. why
// explains what forbids it, and is empty if evicting is allowed. changes is when the answer changes next: the zero time
// if it does not change within a year, or only after hundreds of starts and ends that change nothing. The answer stays
// valid until then.
func (c *Calendar) Open(now time.Time) (open bool, why string, changes time.Time) {
	if year := now.Year(); year < 2 || year > 9999 { // the zero time is in year 1
		return false, fmt.Sprintf("the clock is in the year %d", year), time.Time{}
	}
	limit := now.Add(calendarReach)
	current := c.at(now, limit)
	next := current.until()
	for range maxLeaps {
		if next.IsZero() {
			break
		}
		then := c.at(next, limit)
		if then.open() != current.open() {
			return current.open(), current.why(), next.UTC()
		}
		next = then.until()
	}
	return current.open(), current.why(), time.Time{}
}

func (c *Calendar) at(t, limit time.Time) standing {
	s := standing{blackout: cover(c.blackouts, t, limit)}
	if s.blackout.in || len(c.windows) == 0 {
		s.window.in = true // without windows, any time is allowed
		return s
	}
	s.window = cover(c.windows, t, limit)
	return s
}

// standing is the state of windows and blackouts at one time.
type standing struct{ window, blackout coverage }

func (s standing) open() bool { return s.window.in && !s.blackout.in }

// until returns when the state changes next.
func (s standing) until() time.Time {
	switch {
	case s.blackout.in:
		return s.blackout.until
	case !s.window.in || later(s.blackout.until, s.window.until):
		return s.window.until
	default:
		return s.blackout.until
	}
}

func (s standing) why() string {
	switch {
	case s.blackout.in && s.blackout.until.IsZero():
		return fmt.Sprintf("blackout %s, which does not end within a year", s.blackout.by.name)
	case s.blackout.in:
		return fmt.Sprintf("blackout %s until %s", s.blackout.by.name, s.blackout.until.UTC().Format(time.RFC3339))
	case s.window.in:
		return ""
	case s.window.until.IsZero():
		return "outside every window; none begins within a year"
	default:
		return fmt.Sprintf("outside every window; the next (%s) begins %s",
			s.window.by.name, s.window.until.UTC().Format(time.RFC3339))
	}
}

// coverage holds whether a time is inside any of a list of periods, the earliest time at which that can change, and the
// period that decides it.
type coverage struct {
	in    bool
	until time.Time
	by    *recurrence
}

func cover(list []*recurrence, t, limit time.Time) coverage {
	var best coverage
	for _, r := range list {
		in, until := r.at(t, limit)
		if best.yieldsTo(in, until) {
			best = coverage{in: in, until: until, by: r}
		}
		if best.in && best.until.IsZero() {
			break
		}
	}
	return best
}

// yieldsTo reports whether another period decides instead. Periods that contain t take
// precedence; among these, the one that lasts longest decides. Among the others, the one
// that begins first decides.
func (c coverage) yieldsTo(in bool, until time.Time) bool {
	switch {
	case c.by == nil:
		return true
	case in != c.in:
		return in
	case in:
		return later(until, c.until)
	default:
		return later(c.until, until)
	}
}

// later compares times. The zero time is later than all others.
func later(a, b time.Time) bool {
	return !b.IsZero() && (a.IsZero() || a.After(b))
}
