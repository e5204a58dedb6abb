package check

import (
	"slices"
	"strings"
	"time"

	// This import embeds all time zones, so that a name that is valid on one machine is
	// valid on all of them, including in images without a zone database.
	_ "time/tzdata"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// Window rejects a Window without a name. Only code can create such a Window.
func Window(path *field.Path, w usage.Window) field.ErrorList {
	parsed, err := usage.ParseWindow(w.String())
	if err == nil && parsed == w {
		return nil
	}
	return field.ErrorList{field.Invalid(path, w.String(), "is not a window (allowed: "+usage.WindowNames+")")}
}

// Windows checks a list of windows: at least one, no duplicates.
func Windows(path *field.Path, list []usage.Window) field.ErrorList {
	if len(list) == 0 {
		return field.ErrorList{field.Required(path, "must name at least one of "+usage.WindowNames)}
	}
	var errs field.ErrorList
	for i, w := range list {
		errs = append(errs, Window(path.Index(i), w)...)
		if slices.Contains(list[:i], w) {
			errs = append(errs, field.Duplicate(path.Index(i), w.String()))
		}
	}
	return errs
}

// Periods checks the periods at which windows are updated.
func Periods(path *field.Path, periods map[usage.Window]metav1.Duration) field.ErrorList {
	var errs field.ErrorList
	for _, w := range SortedWindows(periods) {
		key := path.Key(w.String())
		errs = append(errs, Window(key, w)...)
		errs = append(errs, Duration(key, periods[w], 10*time.Second, 24*time.Hour)...)
	}
	return errs
}

// SortedWindows returns the keys of a map, sorted by name.
func SortedWindows[V any](m map[usage.Window]V) []usage.Window {
	windows := make([]usage.Window, 0, len(m))
	for w := range m {
		windows = append(windows, w)
	}
	slices.SortFunc(windows, func(a, b usage.Window) int { return strings.Compare(a.String(), b.String()) })
	return windows
}

// Zone checks the name of a required time zone.
func Zone(path *field.Path, name string) field.ErrorList {
	if Location(name) != nil {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, `must be a name of the IANA time zone database, such as "UTC" or "Asia/Shanghai"`)}
}

// Location returns the named zone, or nil if the name is unknown. It rejects Local, which would differ from one machine
// to the next.
func Location(name string) *time.Location {
	if name == "" || name == "Local" {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return zone
}
