package report

import "strconv"

// share formats a percentage with only its significant digits.
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

// points formats percentage points or minutes.
func points(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// known formats points that may be unknown.
func known(v *float64) string {
	if v == nil {
		return "-"
	}
	return points(*v)
}

// rate formats evictions per pod per day.
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

// ratio formats a share in percent; a dash if the whole is zero.
func ratio(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return share(100 * float64(part) / float64(whole))
}
