package layout

import (
	"math"
	"strings"
)

// Bar draws a percentage as a bar of the given number of cells, with a mark at line. The
// bar extends beyond the mark only if the percentage exceeds line. The mark is omitted if
// line is not between 0 and 100.
func Bar(percent, line float64, cells int) string {
	if cells <= 0 {
		return ""
	}
	full := 0
	if percent > 0 {
		full = int(math.Round(min(percent, 100) / 100 * float64(cells)))
	}
	if !(line > 0 && line < 100) { // also true for NaN
		return strings.Repeat("█", full) + strings.Repeat("·", cells-full)
	}
	mark := min(int(line/100*float64(cells)), max(cells-2, 0))
	if percent > line {
		full = max(full, min(mark+2, cells))
	} else {
		full = min(full, mark)
	}
	bar := []rune(strings.Repeat("█", full) + strings.Repeat("·", cells-full))
	bar[mark] = '│'
	return string(bar)
}

// BarColor returns the color of that bar.
func BarColor(percent, line float64) Color {
	if line > 0 && percent > line {
		return Red
	}
	return Green
}
