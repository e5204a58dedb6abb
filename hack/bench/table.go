package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/evenkeel/evenkeel/hack/measure"
)

// printTable prints the rows' results and returns the number of missed goals.
func printTable(out io.Writer, rows []row, measured measure.Figures) (misses int, err error) {
	table := [][]string{{"FIGURE", "VALUE", "BESIDE", "", "RATIO", "GOAL", ""}}
	for _, r := range rows {
		got := r.evaluate(measured)
		verdict := r.verdict(got)
		if verdict == missed {
			misses++
		}
		table = append(table, []string{
			r.label, shown(got.measured, got.figure, r.figure.Unit), r.besideLabel, shown(got.rival, got.beside, r.beside.Unit),
			ratioText(got, r.goal.of), r.goal.text(r.figure.Unit), verdict,
		})
	}
	return misses, measure.Table(out, table)
}

func shown(known bool, figure float64, unit string) string {
	if !known {
		return "-"
	}
	return inUnit(figure, unit)
}

func ratioText(got result, of aspect) string {
	switch {
	case !got.compared():
		return "-"
	case of == speedup:
		return fmt.Sprintf("%.1fx faster", got.ratio)
	default:
		return fmt.Sprintf("%.2fx", got.ratio)
	}
}

// inUnit formats a figure for readers. unit is its unit in the benchmark format.
func inUnit(figure float64, unit string) string {
	if name, ok := strings.CutSuffix(unit, "ns/op"); ok && name == "" || strings.HasSuffix(unit, "-ns") {
		return duration(figure)
	}
	switch {
	case strings.HasSuffix(unit, "-MiB"):
		return fmt.Sprintf("%.0f MiB", figure)
	case strings.HasSuffix(unit, "allocs/op"):
		return fmt.Sprintf("%.0f", figure)
	case unit == "p99/p50":
		return fmt.Sprintf("%.1fx", figure)
	}
	if math.Abs(figure) < 10 {
		return fmt.Sprintf("%.3g %s", figure, unit)
	}
	return fmt.Sprintf("%.0f %s", figure, unit)
}

// duration formats nanoseconds with three digits.
func duration(ns float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}} {
		if ns >= u.size {
			digits := 2
			for left := ns / u.size; left >= 10 && digits > 0; left /= 10 {
				digits--
			}
			return fmt.Sprintf("%.*f %s", digits, ns/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.0f ns", ns)
}
