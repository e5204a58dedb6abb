package usage

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestParseWindow(t *testing.T) {
	cases := map[string]struct {
		want Window
		// as is the window's canonical name; empty if the name is rejected.
		as string
	}{
		"last":        {Last, "last"},
		"avg_5m":      {Avg5m, "avg_5m"},
		"avg_300s":    {Avg5m, "avg_5m"},
		"avg_60s":     {Window{KindAvg, 0, time.Minute}, "avg_1m"},
		"avg_90s":     {Window{KindAvg, 0, 90 * time.Second}, "avg_90s"},
		"avg_24h":     {Window{KindAvg, 0, MaxReach}, "avg_1d"},
		"max_avg_10m": {Window{KindMaxAvg, 0, 10 * time.Minute}, "max_avg_10m"},
		"max_avg_1h":  {Window{KindMaxAvg, 0, time.Hour}, "max_avg_1h"},
		"max_avg_1d":  {Window{KindMaxAvg, 0, MaxReach}, "max_avg_1d"},
		"p1_1m":       {Window{KindQuantile, 1, time.Minute}, "p1_1m"},
		"p50_5m":      {Window{KindQuantile, 50, 5 * time.Minute}, "p50_5m"},
		"p99_90m":     {Window{KindQuantile, 99, 90 * time.Minute}, "p99_90m"},

		"": {}, "avg": {}, "avg_": {}, "avg_5": {}, "5m": {}, "Last": {}, "last ": {}, "last_5m": {}, "avg_5M": {},
		"p0_5m": {}, "p100_5m": {}, "p05_5m": {}, "p_5m": {}, "p-5_5m": {}, "p9.5_5m": {},
		"avg_05m": {}, "avg_0m": {}, "avg_-5m": {}, "avg_5.5m": {}, "avg_1h30m": {}, "avg_5m ": {}, "avg_5m\n": {},
		// too short or too long
		"avg_59s": {}, "max_avg_5m": {}, "max_avg_599s": {}, "avg_2d": {}, "avg_25h": {}, "avg_86401s": {}, "avg_99999d": {},
		"avg_100000s": {}, "avg_99999999999999999999s": {},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseWindow(name)
			if (err == nil) != (tc.as != "") || got != tc.want {
				t.Fatalf("%q is %+v, %v; want %+v", name, got, err, tc.want)
			}
			if err == nil && got.String() != tc.as {
				t.Errorf("%q is written %q, want %q", name, got, tc.as)
			}
			if err != nil && !strings.Contains(err.Error(), "allowed: ") {
				t.Errorf("%q: the error %q does not say what is allowed", name, err)
			}
		})
	}
}

// The error for a misspelled window suggests the one that was probably meant.
func TestParseWindowAsksForTheLikelyOne(t *testing.T) {
	cases := map[string]string{
		"avg5m": "avg_5m", "avg_5": "avg_5m", "avg_10min": "avg_10m", "p95-1h": "p95_1h", "P50_5m": "p50_5m", "max-avg-1h": "max_avg_1h", "lats": "last",
		"p100_5m": "", "fifteen": "", "5m": "", "": "",
	}
	for name, want := range cases {
		hint := " (allowed: "
		if want != "" {
			hint = fmt.Sprintf(", did you mean %q? (allowed: ", want)
		}
		if _, err := ParseWindow(name); err == nil || !strings.Contains(err.Error(), "is not a window"+hint) {
			t.Errorf("%q: error %v, want it to ask for %q", name, err, want)
		}
	}
}

// A window that was read is written in a form that reads as the same window.
func TestWindowRoundTrip(t *testing.T) {
	for _, kind := range []Kind{KindAvg, KindMaxAvg, KindQuantile} {
		for over := 2 * meanLength; over <= MaxReach; over += 73 * time.Second {
			w := Window{Kind: kind, Over: over}
			if kind == KindQuantile {
				w.Percentile = uint8(1 + over/time.Second%99)
			}
			if got, err := ParseWindow(w.String()); err != nil || got != w {
				t.Fatalf("%+v is written %q and read as %+v, %v", w, w, got, err)
			}
		}
	}
}

func FuzzParseWindow(f *testing.F) {
	for _, name := range []string{"last", "avg_5m", "max_avg_1h", "p95_1d", "p50_90s", "avg_86400s", "p100_1h", "max_avg_5m"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		w, err := ParseWindow(name)
		if err != nil {
			if w != (Window{}) {
				t.Errorf("%q is refused and %+v", name, w)
			}
			return
		}
		if w != Last && (w.Over < MinReach || w.Over > MaxReach) {
			t.Errorf("%q reaches back %v", name, w.Over)
		}
		if (w.Kind == KindQuantile) != (w.Percentile >= 1 && w.Percentile <= 99) {
			t.Errorf("%q is of kind %d with percentile %d", name, w.Kind, w.Percentile)
		}
		if again, err := ParseWindow(w.String()); err != nil || again != w {
			t.Errorf("%q is %+v, written %q and read as %+v, %v", name, w, w, again, err)
		}
	})
}
