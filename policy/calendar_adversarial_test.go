package policy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/policy/calendar"
)

// The clock of a process can show any time, and none of them makes the calendar hang or panic.
func TestCalendarAtTimesThatNoClockShows(t *testing.T) {
	cases := map[string]struct {
		now      time.Time
		wantOpen bool
	}{
		"the zero time":                  {now: time.Time{}},
		"the epoch":                      {now: time.Unix(0, 0), wantOpen: true},
		"the year two":                   {now: time.Date(2, 1, 1, 0, 0, 0, 0, time.UTC), wantOpen: true},
		"long before":                    {now: time.Unix(math.MinInt64, 0)},
		"long after":                     {now: time.Unix(math.MaxInt64, 0)},
		"before the year one":            {now: time.Date(0, 12, 31, 23, 59, 59, 0, time.UTC)},
		"the year 10000":                 {now: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"the last representable instant": {now: time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), wantOpen: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := mustCalendar(t, &Eviction{Windows: []Period{inBerlin("* * * * *", time.Minute), every("0 0 29 2 *", time.Hour)}})
			open, why, _ := c.Open(tc.now)
			if open != tc.wantOpen || (why == "") != open {
				t.Errorf("Open = %v, %q, want %v", open, why, tc.wantOpen)
			}
		})
	}
}

// The calendar gives up on an endless series of touching periods, but still knows whether it is open now.
func TestCalendarGivesUpOnEndlessPeriods(t *testing.T) {
	e := Eviction{Windows: []Period{every("0-58/2 * * * *", time.Minute), every("1-59/2 * * * *", time.Minute)}}
	got := ask(mustCalendar(t, &e), at(t, "2026-11-21T12:00:00Z"))
	if diff := cmp.Diff(answer{Open: true}, got); diff != "" {
		t.Errorf("Open (-want +got):\n%s", diff)
	}
}

var (
	someSchedules = []string{
		"0 22 * * *", "30 2 * * *", "*/20 * * * *", "0 0 * * *", "15 23 * * *", "0 3 * * 0", "45 1-3 * * *",
		"0 0 29 3 *", "5 2 25 10 *", "0 12 1 * mon", "59 23 * * *", "* 2 * * *", "0 */5 * * *",
	}
	someZones     = []string{"", "Europe/Berlin", "America/Santiago", "Australia/Lord_Howe", "America/Havana", "Pacific/Apia", "Asia/Kathmandu"}
	someDurations = []time.Duration{
		time.Minute, 20 * time.Minute, 59*time.Minute + 30*time.Second, time.Hour, 8 * time.Hour, 24 * time.Hour, 50 * time.Hour, 168 * time.Hour,
	}
	// changedDays are close to the days of 2026 on which clocks change somewhere.
	changedDays = []time.Time{
		time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC), time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 4, 5, 0, 0, 0, 0, time.UTC), time.Date(2026, 9, 6, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 10, 4, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 6, 15, 0, 0, 0, 0, time.UTC),
	}
)

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func somePeriods(r *rand.Rand, most int) []Period {
	var periods []Period
	for range r.IntN(most + 1) {
		periods = append(periods, Period{
			Schedule: pick(r, someSchedules), Duration: duration(pick(r, someDurations)), TimeZone: pick(r, someZones),
		})
	}
	return periods
}

// The calendar agrees with watching the clock minute by minute.
func TestCalendarAgreesWithAClockWatcher(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2026))
	for n := range 120 {
		e := Eviction{Windows: somePeriods(r, 2), Blackouts: somePeriods(r, 2)}
		from := pick(r, changedDays).Add(-36 * time.Hour)
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			c := mustCalendar(t, &e)
			const span = 84 * time.Hour
			want := watch(t, &e, from, span)
			for i := 0; i < len(want); i += 41 {
				now := from.Add(time.Duration(i) * halfMinute)
				open, _, changes := c.Open(now)
				if open != want[i] {
					t.Fatalf("windows %v, blackouts %v: open at %s is %v, want %v", e.Windows, e.Blackouts, now, open, want[i])
				}
				wantChanges := time.Time{}
				if next := slices.Index(want[i:], !open); next >= 0 {
					wantChanges = now.Add(time.Duration(next) * halfMinute)
				}
				seen := !changes.IsZero() && changes.Before(from.Add(span))
				if seen != !wantChanges.IsZero() || seen && !changes.Equal(wantChanges) {
					t.Fatalf("windows %v, blackouts %v: asked at %s it changes at %s, want %s", e.Windows, e.Blackouts, now, changes, wantChanges)
				}
			}
		})
	}
}

const halfMinute = 30 * time.Second

// watch returns, for each half minute, whether evicting is allowed.
func watch(t *testing.T, e *Eviction, from time.Time, span time.Duration) []bool {
	t.Helper()
	windows, blackouts := watchAny(t, e.Windows, from, span), watchAny(t, e.Blackouts, from, span)
	open := make([]bool, len(windows))
	for i := range open {
		open[i] = (windows[i] || len(e.Windows) == 0) && !blackouts[i]
	}
	return open
}

func watchAny(t *testing.T, periods []Period, from time.Time, span time.Duration) []bool {
	t.Helper()
	in := make([]bool, span/halfMinute)
	for i := range periods {
		p := &periods[i]
		spec, err := calendar.ParseSchedule(p.Schedule)
		if err != nil {
			t.Fatal(err)
		}
		zone, err := time.LoadLocation(p.TimeZone)
		if err != nil {
			t.Fatal(err)
		}
		shown := func(t time.Time) time.Time { // as the clock shows it
			_, offset := t.In(zone).Zone()
			return t.Add(time.Duration(offset) * time.Second).UTC()
		}
		var due time.Time
		for now := from.Add(-p.Duration.Duration).Truncate(time.Minute); now.Before(from.Add(span)); now = now.Add(time.Minute) {
			// A period starts if it became due after the previous minute, or is due at the time
			// that the clock shows now.
			before, wall := shown(now.Add(-time.Minute)), shown(now)
			if wall.Before(before) {
				before, due = wall.Add(-time.Minute), time.Time{}
			}
			if due.After(wall) {
				continue
			}
			if due = spec.Next(before); due.After(wall) {
				continue
			}
			first := max(0, now.Sub(from)/halfMinute)
			for k := first; k < min(now.Add(p.Duration.Duration).Sub(from)/halfMinute, span/halfMinute); k++ {
				in[k] = true
			}
		}
	}
	return in
}
