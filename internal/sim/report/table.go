package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/evenkeel/evenkeel/internal/sim"
)

// Table writes a row per variant, and the verdict below.
func Table(w io.Writer, results []sim.Result) error {
	made, err := rows(results)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	memory := withMemory(results)
	header := []string{"VARIANT", "HOT%", "UNSERVED%", "DEV 5m", "DEV 1h"}
	if memory {
		header = append(header, "MEM HOT%", "MEM DEV 1h")
	}
	header = append(header, "EVICTIONS", "PER POD AND DAY", "HOT MIN/EVICTION", "ON PLAN%", "BOOMERANGS", "HELPED%")
	line(table, header)
	for i := range made {
		line(table, made[i].cells(memory))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	_, err = fmt.Fprintf(w, "\n%s\n", strings.Join(Judge(results).Sentences, "\n"))
	return err
}

func line(w io.Writer, cells []string) { fmt.Fprintln(w, strings.Join(cells, "\t")) }

func (r *Row) cells(memory bool) []string {
	cells := []string{plain(r.Variant), share(r.HotPercent), share(r.UnservedPercent), points(r.CPUDeviation), points(r.CPUDeviationHour)}
	if memory {
		cells = append(cells, share(r.MemoryHotPercent), points(r.MemoryDeviationHour))
	}
	saved := "-"
	if r.HotMinutesPerEviction != nil {
		saved = points(*r.HotMinutesPerEviction)
	}
	return append(cells, strconv.Itoa(r.Evictions), rate(r.EvictionsPerPodAndDay), saved,
		ratio(r.OnPlan, r.Planned), strconv.Itoa(r.Boomerangs), ratio(r.Helped, r.Evictions))
}

func withMemory(results []sim.Result) bool {
	for i := range results {
		if results[i].Memory {
			return true
		}
	}
	return false
}

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

// points prints percent points or minutes.
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
