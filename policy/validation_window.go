package policy

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/usage"
)

// validWindow refuses what only code can write: a Window that has no name.
func validWindow(path *field.Path, w usage.Window) field.ErrorList {
	parsed, err := usage.ParseWindow(w.String())
	if err == nil && parsed == w {
		return nil
	}
	return field.ErrorList{field.Invalid(path, w.String(), "is not a window; allowed: "+usage.WindowNames)}
}

// validateWindows checks a list of windows: at least one, each once.
func validateWindows(list []usage.Window, path *field.Path) field.ErrorList {
	if len(list) == 0 {
		return field.ErrorList{field.Required(path, "must name at least one of "+usage.WindowNames)}
	}
	var errs field.ErrorList
	for i, w := range list {
		errs = append(errs, validWindow(path.Index(i), w)...)
		if slices.Contains(list[:i], w) {
			errs = append(errs, field.Duplicate(path.Index(i), w.String()))
		}
	}
	return errs
}

func validatePeriods(periods map[usage.Window]metav1.Duration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, w := range sortedWindows(periods) {
		key := path.Key(w.String())
		errs = append(errs, validWindow(key, w)...)
		errs = append(errs, durationBetween(key, periods[w], 10*time.Second, 24*time.Hour)...)
	}
	return errs
}

// validateZone checks the name of a time zone that must be given.
func validateZone(name string, path *field.Path) field.ErrorList {
	if location(name) != nil {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, `must be a name of the IANA time zone database, such as "UTC" or "Asia/Shanghai"`)}
}

func windowNames(windows []usage.Window) []string {
	names := make([]string, len(windows))
	for i, w := range windows {
		names[i] = w.String()
	}
	return names
}

func sortedWindows[V any](m map[usage.Window]V) []usage.Window {
	byName := make(map[string]usage.Window, len(m))
	for w := range m {
		byName[w.String()] = w
	}
	windows := make([]usage.Window, 0, len(m))
	for _, name := range sortedKeys(byName) {
		windows = append(windows, byName[name])
	}
	return windows
}
