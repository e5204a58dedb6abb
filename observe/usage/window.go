package usage

import (
	"encoding"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/evenkeel/evenkeel/internal/likely"
)

// Kind defines how a Window aggregates its samples.
type Kind uint8

// The kinds of windows.
const (
	// KindLast is the newest sample.
	KindLast Kind = iota
	// KindAvg is the mean of all samples.
	KindAvg
	// KindMaxAvg is the highest five-minute mean.
	KindMaxAvg
	// KindQuantile is the sample below which a percentage of all samples lies.
	KindQuantile
)

// Window is an aggregation of the samples of the last minutes, hours or day.
// Windows are compared with ==.
type Window struct {
	Kind Kind
	// Percentile is 1 to 99 for KindQuantile, else 0.
	Percentile uint8
	// Over is how far back the window reaches; 0 for KindLast.
	Over time.Duration
}

var (
	_ encoding.TextMarshaler   = Window{}
	_ encoding.TextUnmarshaler = (*Window)(nil)
)

// The windows that every View has.
var (
	Last  = Window{Kind: KindLast}
	Avg5m = Window{Kind: KindAvg, Over: 5 * time.Minute}
)

// The reach of windows other than last.
const (
	MinReach = time.Minute
	MaxReach = 24 * time.Hour
	// meanLength is the resolution of KindMaxAvg.
	meanLength = 5 * time.Minute
	// sampleReach is how long single samples are kept. Windows that reach further back
	// are computed from five-minute means.
	sampleReach = time.Hour
)

// means maps the names of mean windows to their kinds.
var means = map[string]Kind{"avg": KindAvg, "max_avg": KindMaxAvg}

var windowName = regexp.MustCompile(`^(avg|max_avg|p([1-9][0-9]?))_([1-9][0-9]{0,4})([smhd])$`)

// WindowNames describes what ParseWindow accepts.
const WindowNames = "last, avg_<time>, max_avg_<time> and p<1 to 99>_<time> with a time from 1m to 1d such as 5m, 1h or 1d"

// ParseWindow reads the name of a window: last, avg_5m, max_avg_1h, p95_1h and
// so on.
func ParseWindow(name string) (Window, error) {
	if name == "last" {
		return Last, nil
	}
	parts := windowName.FindStringSubmatch(name)
	if parts == nil {
		return Window{}, fmt.Errorf("%q is not a window%s (allowed: %s)", name, likelyWindow(name), WindowNames)
	}
	count, _ := strconv.Atoi(parts[3])      // bounded by the pattern
	percentile, _ := strconv.Atoi(parts[2]) // two digits, or nothing
	w := Window{Kind: KindQuantile, Percentile: uint8(percentile), Over: time.Duration(count) * units[parts[4]]}
	if kind, ok := means[parts[1]]; ok {
		w.Kind = kind
	}
	least := MinReach
	if w.Kind == KindMaxAvg {
		least = 2 * meanLength
	}
	if w.Over < least || w.Over > MaxReach {
		return Window{}, fmt.Errorf("%q reaches back %v; allowed: %v to %v", name, w.Over, least, MaxReach)
	}
	return w, nil
}

// likelyWindow suggests the supported window with the same duration and
// percentile.
func likelyWindow(name string) string {
	numbers := windowNumbers.FindAllString(name, 2)
	if len(numbers) == 0 {
		return likely.Hint(name, []string{"last"})
	}
	kinds := []string{"avg", "max_avg"}
	if len(numbers) > 1 {
		kinds = append(kinds, "p"+numbers[0])
	}
	var names []string
	for _, unit := range []string{"m", "h", "d"} {
		for _, kind := range kinds {
			if w := kind + "_" + numbers[len(numbers)-1] + unit; windowName.MatchString(w) {
				names = append(names, w)
			}
		}
	}
	return likely.Hint(name, names)
}

var windowNumbers = regexp.MustCompile("[0-9]{1,5}")

// MarshalText writes the window as its name.
func (w Window) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText accepts only the canonical name of a window, so that no mapping can
// contain a window twice.
func (w *Window) UnmarshalText(text []byte) error {
	parsed, err := ParseWindow(string(text))
	if err != nil {
		return err
	}
	if name := parsed.String(); name != string(text) {
		return fmt.Errorf("%q is written %q", text, name)
	}
	*w = parsed
	return nil
}

var units = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

// String returns the name that policies, output and metrics use.
func (w Window) String() string {
	switch w.Kind {
	case KindAvg:
		return "avg_" + reach(w.Over)
	case KindMaxAvg:
		return "max_avg_" + reach(w.Over)
	case KindQuantile:
		return fmt.Sprintf("p%d_%s", w.Percentile, reach(w.Over))
	case KindLast:
	}
	return "last"
}

// reach formats a duration in the largest unit that divides it.
func reach(d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0:
		return strconv.FormatInt(int64(d/(24*time.Hour)), 10) + "d"
	case d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	case d%time.Minute == 0:
		return strconv.FormatInt(int64(d/time.Minute), 10) + "m"
	}
	return strconv.FormatInt(int64(d/time.Second), 10) + "s"
}
