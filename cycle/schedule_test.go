package cycle

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The cases show when cycles start, in seconds after a full minute, given the schedule and how long
// each cycle takes.
func TestDue(t *testing.T) {
	everyMinute, err := ParseSchedule("*/1 * * * *")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		schedule Schedule
		takes    time.Duration
		want     []int
	}{
		"in steps, at once":                        {Every(30 * time.Second), 0, []int{0, 30, 60, 90, 120}},
		"steps begin where the cycle before ended": {Every(30 * time.Second), 20 * time.Second, []int{0, 50, 100, 150}},
		"by the clock, not at once":                {everyMinute, 0, []int{60, 120, 180}},
		"times that pass meanwhile are skipped":    {everyMinute, 70 * time.Second, []int{60, 180}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now() // a synctest bubble starts at a full minute
				ctx, cancel := context.WithTimeout(t.Context(), 181*time.Second)
				defer cancel()
				var got []int
				running := 0
				for range Due(ctx, tc.schedule, nil, time.Now, func() {}) {
					if running++; running > 1 {
						t.Error("cycles overlap")
					}
					got = append(got, int(time.Since(start)/time.Second))
					time.Sleep(tc.takes)
					running--
				}
				if len(got) > len(tc.want) {
					got = got[:len(tc.want)]
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("started at (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A long wait reports progress at least every minute, and ends as soon as it is told to.
func TestDueIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		longest, last, cycles := time.Duration(0), time.Now(), 0
		alive := func() {
			longest, last = max(longest, time.Since(last)), time.Now()
		}
		go func() {
			time.Sleep(150 * time.Minute)
			cancel()
		}()
		start := time.Now()
		for range Due(ctx, Every(time.Hour), nil, time.Now, alive) {
			cycles++
		}
		if longest > time.Minute || cycles != 3 || time.Since(start) != 150*time.Minute {
			t.Errorf("silent for %v, %d cycles, ended after %v", longest, cycles, time.Since(start))
		}
	})
}

// If the clock is set back, a cycle waits at most one more interval, and not as long as the clock
// was set back.
func TestDueWhenTheClockIsSetBack(t *testing.T) {
	hourly, err := ParseSchedule("@hourly")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		schedule Schedule
		back     time.Duration
		want     []int // in minutes
	}{
		"in steps":     {Every(10 * time.Minute), 24 * time.Hour, []int{0, 10, 20, 35, 45}},
		"by the clock": {hourly, 24 * time.Hour, []int{60, 120}},
		"by the clock, to shortly before a full hour": {hourly, 24*time.Hour + 30*time.Minute, []int{30, 90}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
				defer cancel()
				now := func() time.Time {
					at := time.Now()
					if at.Sub(start) >= 25*time.Minute {
						at = at.Add(-tc.back)
					}
					return at
				}
				var got []int
				for range Due(ctx, tc.schedule, nil, now, func() {}) {
					got = append(got, int(time.Since(start)/time.Minute))
				}
				if diff := cmp.Diff(tc.want, got[:min(len(got), len(tc.want))]); diff != "" {
					t.Errorf("started at (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestParseSchedule(t *testing.T) {
	for expression, ok := range map[string]bool{
		"*/5 * * * *": true, "@hourly": true, "CRON_TZ=UTC 0 3 * * 1-5": true,
		"": false, "* * * *": false, "*/5 * * * * *": false, "61 * * * *": false, "every day": false, "0 0 30 2 *": false, "0 0 29 2 *": true,
	} {
		t.Run(fmt.Sprintf("%q", expression), func(t *testing.T) {
			if _, err := ParseSchedule(expression); (err == nil) != ok {
				t.Errorf("%v, want ok=%v", err, ok)
			}
		})
	}
}
