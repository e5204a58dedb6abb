package report

import (
	"strconv"
	"strings"
)

// plain keeps a name from spoiling the table it stands in.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, name)
}

// share prints percent with as many digits as tell something.
func share(percent float64) string {
	switch {
	case percent == 0:
		return "0"
	case percent < 0.01:
		return "<0.01"
	case percent < 0.1:
		return strconv.FormatFloat(percent, 'f', 2, 64)
	}
	return strconv.FormatFloat(percent, 'f', 1, 64)
}

// points prints percentage points or minutes.
func points(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// rate prints evictions per pod and day.
func rate(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 0.001:
		return "<0.001"
	case v < 0.1:
		return strconv.FormatFloat(v, 'f', 3, 64)
	case v < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// ratio prints a share in percent; a dash where there is nothing to share.
func ratio(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return share(100 * float64(part) / float64(whole))
}
