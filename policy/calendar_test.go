package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/policy/calendar"
)

func mustCalendar(t testing.TB, e *Eviction) *calendar.Calendar {
	t.Helper()
	c, err := e.Calendar()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func at(t testing.TB, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	parsed, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func every(schedule string, d time.Duration) Period {
	return Period{Schedule: schedule, Duration: duration(d)}
}

func inBerlin(schedule string, d time.Duration) Period {
	return Period{Schedule: schedule, Duration: duration(d), TimeZone: "Europe/Berlin"}
}

// answer holds the results of Open.
type answer struct {
	Open    bool
	Why     string
	Changes string
}

func ask(c *calendar.Calendar, now time.Time) answer {
	open, why, changes := c.Open(now)
	a := answer{Open: open, Why: why}
	if !changes.IsZero() {
		a.Changes = changes.Format(time.RFC3339Nano)
	}
	return a
}

func TestCalendarOpens(t *testing.T) {
	nights := []Period{every("0 22 * * *", 8*time.Hour)}
	cases := map[string]struct {
		windows, blackouts []Period
		now                string
		want               answer
	}{
		"neither windows nor blackouts: always open": {
			now:  "2026-11-21T12:00:00Z",
			want: answer{Open: true},
		},
		"before a window": {
			windows: nights, now: "2026-11-21T21:59:59.999Z",
			want: answer{false, `outside every window; the next ("0 22 * * *" in UTC) begins 2026-11-21T22:00:00Z`, "2026-11-21T22:00:00Z"},
		},
		"a window includes its first instant": {
			windows: nights, now: "2026-11-21T22:00:00Z",
			want: answer{true, "", "2026-11-22T06:00:00Z"},
		},
		"a window includes its last instant": {
			windows: nights, now: "2026-11-22T05:59:59.999999999Z",
			want: answer{true, "", "2026-11-22T06:00:00Z"},
		},
		"a window excludes its end": {
			windows: nights, now: "2026-11-22T06:00:00Z",
			want: answer{false, `outside every window; the next ("0 22 * * *" in UTC) begins 2026-11-22T22:00:00Z`, "2026-11-22T22:00:00Z"},
		},
		"of several windows the next begins first": {
			windows: []Period{every("0 0 1 * *", time.Hour), nights[0], every("0 12 * * sun", time.Hour)},
			now:     "2026-11-22T07:00:00Z", // a Sunday
			want:    answer{false, `outside every window; the next ("0 12 * * sun" in UTC) begins 2026-11-22T12:00:00Z`, "2026-11-22T12:00:00Z"},
		},
		"overlapping windows merge": {
			windows: []Period{nights[0], every("0 4 * * *", 4*time.Hour)},
			now:     "2026-11-21T23:00:00Z",
			want:    answer{true, "", "2026-11-22T08:00:00Z"},
		},
		"touching windows merge": {
			windows: []Period{nights[0], every("0 6 * * *", 2*time.Hour)},
			now:     "2026-11-21T23:00:00Z",
			want:    answer{true, "", "2026-11-22T08:00:00Z"},
		},
		"windows a second apart stay separate": {
			windows: []Period{every("0 22 * * *", 8*time.Hour-time.Second), every("0 6 * * *", 2*time.Hour)},
			now:     "2026-11-21T23:00:00Z",
			want:    answer{true, "", "2026-11-22T05:59:59Z"},
		},
		"a window longer than its interval never ends": {
			windows: []Period{every("0 22 * * *", 25*time.Hour)},
			now:     "2026-11-21T12:00:00Z",
			want:    answer{Open: true},
		},
		"a window as long as its interval never ends": {
			windows: []Period{every("*/5 * * * *", 5*time.Minute)},
			now:     "2026-11-21T12:00:00Z",
			want:    answer{Open: true},
		},
		"a week from Mondays to Fridays": {
			windows: []Period{every("0 0 * * 1-5", 3*24*time.Hour)},
			now:     "2026-11-21T12:00:00Z", // a Saturday: Friday's period lasts until Monday
			want:    answer{Open: true},
		},
		"a month that consists of one window": {
			windows: []Period{every("* * * 12 *", time.Minute)},
			now:     "2026-12-24T12:00:00Z",
			want:    answer{true, "", "2027-01-01T00:00:00Z"},
		},
		"a blackout without windows": {
			blackouts: []Period{every("0 12 * * *", time.Hour)},
			now:       "2026-11-21T12:30:00Z",
			want:      answer{false, `blackout "0 12 * * *" in UTC until 2026-11-21T13:00:00Z`, "2026-11-21T13:00:00Z"},
		},
		"the next blackout is the next change": {
			blackouts: []Period{every("0 12 * * *", time.Hour)},
			now:       "2026-11-21T13:00:00Z",
			want:      answer{true, "", "2026-11-22T12:00:00Z"},
		},
		"a blackout within a window": {
			windows: nights, blackouts: []Period{every("0 2 * * *", time.Hour)},
			now:  "2026-11-21T22:30:00Z",
			want: answer{true, "", "2026-11-22T02:00:00Z"},
		},
		"a blackout that outlasts the window": {
			windows: nights, blackouts: []Period{every("0 5 * * *", 2*time.Hour)},
			now:  "2026-11-22T05:30:00Z",
			want: answer{false, `blackout "0 5 * * *" in UTC until 2026-11-22T07:00:00Z`, "2026-11-22T22:00:00Z"},
		},
		"a blackout when the next window begins": {
			windows: nights, blackouts: []Period{every("0 21 * * *", 2*time.Hour)},
			now:  "2026-11-22T12:00:00Z",
			want: answer{false, `outside every window; the next ("0 22 * * *" in UTC) begins 2026-11-22T22:00:00Z`, "2026-11-22T23:00:00Z"},
		},
		"of several blackouts the one that lasts longest is named": {
			blackouts: []Period{every("0 12 * * *", 2*time.Hour), every("0 11 * * *", 5*time.Hour), every("30 12 * * *", time.Hour)},
			now:       "2026-11-21T13:00:00Z",
			want:      answer{false, `blackout "0 11 * * *" in UTC until 2026-11-21T16:00:00Z`, "2026-11-21T16:00:00Z"},
		},
		"consecutive blackouts": {
			blackouts: []Period{every("0 12 * * *", 2*time.Hour), every("0 14 * * *", 5*time.Hour)},
			now:       "2026-11-21T13:00:00Z",
			want:      answer{false, `blackout "0 12 * * *" in UTC until 2026-11-21T14:00:00Z`, "2026-11-21T19:00:00Z"},
		},
		"a blackout that never ends": {
			blackouts: []Period{every("@daily", 24*time.Hour)},
			now:       "2026-11-21T13:00:00Z",
			want:      answer{false, `blackout "@daily" in UTC, which does not end within a year`, ""},
		},
		"windows covered by blackouts": {
			windows: nights, blackouts: []Period{every("0 21 * * *", 10*time.Hour)},
			now:  "2026-11-21T13:00:00Z",
			want: answer{false, `outside every window; the next ("0 22 * * *" in UTC) begins 2026-11-21T22:00:00Z`, ""},
		},
		"a window more than a year away": {
			windows: []Period{every("0 0 29 2 *", time.Hour)},
			now:     "2026-11-21T13:00:00Z",
			want:    answer{false, "outside every window; none begins within a year", ""},
		},
		"a day of the month or of the week, as cron has it": {
			windows: []Period{every("0 0 13 * fri", time.Hour)},
			now:     "2026-11-11T00:00:00Z",
			want:    answer{false, `outside every window; the next ("0 0 13 * fri" in UTC) begins 2026-11-13T00:00:00Z`, "2026-11-13T00:00:00Z"},
		},
		"the same instant in another zone": {
			windows: nights, now: "2026-11-22T01:00:00+03:00",
			want: answer{true, "", "2026-11-22T06:00:00Z"},
		},
		"a week that began seven days ago": {
			blackouts: []Period{every("0 0 24 12 *", 7*24*time.Hour)},
			now:       "2026-12-30T23:59:59Z",
			want:      answer{false, `blackout "0 0 24 12 *" in UTC until 2026-12-31T00:00:00Z`, "2026-12-31T00:00:00Z"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := mustCalendar(t, &Eviction{Windows: tc.windows, Blackouts: tc.blackouts})
			if diff := cmp.Diff(tc.want, ask(c, at(t, tc.now))); diff != "" {
				t.Errorf("Open (-want +got):\n%s", diff)
			}
		})
	}
}

// In 2026, clocks in Berlin are set forward on 29 March, from 02:00 (01:00 UTC) to 03:00, and back
// on 25 October, from 03:00 (01:00 UTC) to 02:00.
func TestCalendarWhenClocksAreChanged(t *testing.T) {
	zone := func(name, schedule string, d time.Duration) Period {
		return Period{Schedule: schedule, Duration: duration(d), TimeZone: name}
	}
	cases := map[string]struct {
		period     Period
		now        string
		begin, end string // of the first window that ends after now; begin is not before now
	}{
		"in winter": {
			period: inBerlin("0 22 * * *", 8*time.Hour), now: "2026-01-10T12:00:00Z",
			begin: "2026-01-10T21:00:00Z", end: "2026-01-11T05:00:00Z",
		},
		"in summer": {
			period: inBerlin("0 22 * * *", 8*time.Hour), now: "2026-07-10T12:00:00Z",
			begin: "2026-07-10T20:00:00Z", end: "2026-07-11T04:00:00Z",
		},
		"clocks set forward at night: eight hours end at 07:00": {
			period: inBerlin("0 22 * * *", 8*time.Hour), now: "2026-03-28T12:00:00Z",
			begin: "2026-03-28T21:00:00Z", end: "2026-03-29T05:00:00Z",
		},
		"clocks set back at night: eight hours end at 05:00": {
			period: inBerlin("0 22 * * *", 8*time.Hour), now: "2026-10-24T12:00:00Z",
			begin: "2026-10-24T20:00:00Z", end: "2026-10-25T04:00:00Z",
		},
		"02:30 is skipped in spring: begins when 02:00 becomes 03:00": {
			period: inBerlin("30 2 * * *", 30*time.Minute), now: "2026-03-28T12:00:00Z",
			begin: "2026-03-29T01:00:00Z", end: "2026-03-29T01:30:00Z",
		},
		"the day after, 02:30 exists again": {
			period: inBerlin("30 2 * * *", 30*time.Minute), now: "2026-03-29T01:30:00Z",
			begin: "2026-03-30T00:30:00Z", end: "2026-03-30T01:00:00Z",
		},
		"03:00 in spring is the same moment": {
			period: inBerlin("0 3 * * *", 30*time.Minute), now: "2026-03-28T12:00:00Z",
			begin: "2026-03-29T01:00:00Z", end: "2026-03-29T01:30:00Z",
		},
		"02:30 occurs twice in autumn: first in summer time": {
			period: inBerlin("30 2 * * *", 30*time.Minute), now: "2026-10-24T12:00:00Z",
			begin: "2026-10-25T00:30:00Z", end: "2026-10-25T01:00:00Z",
		},
		"02:30 occurs twice in autumn: then in winter time": {
			period: inBerlin("30 2 * * *", 30*time.Minute), now: "2026-10-25T01:00:00Z",
			begin: "2026-10-25T01:30:00Z", end: "2026-10-25T02:00:00Z",
		},
		"both merge where they touch": {
			period: inBerlin("30 2 * * *", time.Hour), now: "2026-10-24T12:00:00Z",
			begin: "2026-10-25T00:30:00Z", end: "2026-10-25T02:30:00Z",
		},
		"02:00 in autumn occurs again when 03:00 would have come": {
			period: inBerlin("0 2 * * *", 30*time.Minute), now: "2026-10-25T00:30:00Z",
			begin: "2026-10-25T01:00:00Z", end: "2026-10-25T01:30:00Z",
		},
		"03:00 in autumn occurs once": {
			period: inBerlin("0 3 * * *", 30*time.Minute), now: "2026-10-24T12:00:00Z",
			begin: "2026-10-25T02:00:00Z", end: "2026-10-25T02:30:00Z",
		},
		"a zone that skips midnight": { // Santiago, 6 September 2026, 24:00 to 01:00
			period: zone("America/Santiago", "0 0 * * *", time.Hour), now: "2026-09-05T12:00:00Z",
			begin: "2026-09-06T04:00:00Z", end: "2026-09-06T05:00:00Z",
		},
		"the next day after a midnight that was skipped": {
			period: zone("America/Santiago", "0 5 * * *", time.Hour), now: "2026-09-05T12:00:00Z",
			begin: "2026-09-06T08:00:00Z", end: "2026-09-06T09:00:00Z",
		},
		"a zone that is set back to the day before": { // Santiago, 4 April 2026, 24:00 to 23:00
			period: zone("America/Santiago", "30 23 * * *", 30*time.Minute), now: "2026-04-05T03:00:00Z",
			begin: "2026-04-05T03:30:00Z", end: "2026-04-05T04:00:00Z",
		},
		"a zone that is set back after midnight": { // St. John's, 7 November 2010, 00:01 to 23:01
			period: zone("America/St_Johns", "30 23 * * *", time.Hour), now: "2010-11-07T03:30:30Z",
			begin: "2010-11-07T03:30:30Z", end: "2010-11-07T04:00:00Z",
		},
		"a zone whose clocks change by half an hour": { // Lord Howe, 4 October 2026, 02:00 to 02:30
			period: zone("Australia/Lord_Howe", "15 2 * * *", time.Hour), now: "2026-10-03T12:00:00Z",
			begin: "2026-10-03T15:30:00Z", end: "2026-10-03T16:30:00Z",
		},
		"a zone that skipped a day": { // Apia, 30 December 2011
			period: zone("Pacific/Apia", "0 12 30 12 *", time.Hour), now: "2011-12-29T12:00:00Z",
			begin: "2011-12-30T10:00:00Z", end: "2011-12-30T11:00:00Z",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			windows := mustCalendar(t, &Eviction{Windows: []Period{tc.period}})
			_, _, begin := windows.Open(at(t, tc.now))
			if open, _, _ := windows.Open(at(t, tc.now)); open {
				begin = at(t, tc.now)
			}
			_, _, end := windows.Open(begin)
			got := [2]string{begin.Format(time.RFC3339), end.Format(time.RFC3339)}
			if diff := cmp.Diff([2]string{tc.begin, tc.end}, got); diff != "" {
				t.Errorf("begin and end (-want +got):\n%s", diff)
			}
			blackouts := mustCalendar(t, &Eviction{Blackouts: []Period{tc.period}})
			if open, _, _ := blackouts.Open(begin); open {
				t.Error("open in a blackout of the same times")
			}
		})
	}
}

func BenchmarkCalendarOpen(b *testing.B) {
	all := make([]Period, 50)
	for i := range all {
		all[i] = every("* * * * *", time.Minute)
	}
	var teeth []Period // each period starts when the previous one ends
	for i := range 50 {
		teeth = append(teeth, Period{Schedule: []string{"0-58/2 * * * *", "1-59/2 * * * *"}[i%2], Duration: duration(time.Minute)})
	}
	cases := map[string]Eviction{
		"no periods":                       {},
		"nights and Christmas":             {Windows: []Period{inBerlin("0 22 * * 1-5", 8*time.Hour)}, Blackouts: []Period{inBerlin("0 0 23 12 *", 96*time.Hour)}},
		"always open":                      {Windows: []Period{every("* * * * *", time.Minute)}},
		"50 always open":                   {Windows: all},
		"50 teeth":                         {Windows: teeth},
		"50 windows and 50 blackout teeth": {Windows: all, Blackouts: teeth},
	}
	for name, e := range cases {
		b.Run(name, func(b *testing.B) {
			c := mustCalendar(b, &e)
			now := at(b, "2026-11-21T12:00:00Z")
			b.ReportAllocs()
			for b.Loop() {
				c.Open(now)
			}
		})
	}
}

func BenchmarkCalendar(b *testing.B) {
	e := Eviction{Windows: []Period{inBerlin("0 22 * * 1-5", 8*time.Hour)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Calendar(); err != nil {
			b.Fatal(err)
		}
	}
}
