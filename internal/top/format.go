package top

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/evenkeel/evenkeel/internal/terminal"
)

// none stands for what is not known.
const none = "-"

func percent(v *float64) string {
	if v == nil {
		return none
	}
	return fmt.Sprintf("%.1f%%", *v)
}

// cores formats milli-cores as cores.
func cores(milli int64) string { return short(float64(milli)/1000, "") }

// memory formats bytes in a unit that leaves few digits.
func memory(n int64) string {
	const kib = 1 << 10
	v, unit := float64(n)/(kib*kib), 0
	units := []string{"Mi", "Gi", "Ti"}
	for v >= 1000 && unit < len(units)-1 {
		v, unit = v/kib, unit+1
	}
	return short(v, units[unit])
}

// short formats a number with three digits, and no more if it has none behind
// the point.
func short(v float64, unit string) string {
	switch {
	case v == float64(int64(v)) || v >= 99.95:
		return fmt.Sprintf("%.0f%s", v, unit)
	case v >= 9.995:
		return fmt.Sprintf("%.1f%s", v, unit)
	}
	return fmt.Sprintf("%.2f%s", v, unit)
}

// shortened cuts what is in the middle of a name that has more cells: both of
// its ends distinguish nodes.
func shortened(name string, cells int) string {
	runes := []rune(name)
	if len(runes) <= cells {
		return name
	}
	tail := (cells - 1) / 2
	return string(runes[:cells-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// wrapped breaks a text into lines of at most so many cells, between words, and
// leaves out what could control a terminal.
func wrapped(text string, cells int) string {
	var b strings.Builder
	used := 0
	for word := range strings.FieldsSeq(terminal.Printable(text)) {
		n := utf8.RuneCountInString(word)
		switch {
		case used == 0:
		case used+1+n > cells:
			b.WriteByte('\n')
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}
