package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/evenkeel/evenkeel/internal/sim"
)

// Table writes a row per variant, followed by the verdict.
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
	header = append(header, "EVICTIONS", "PER POD PER DAY", "HOT MIN/EVICTION", "ON PLAN%", "BOOMERANGS", "HELPED%")
	line(table, header)
	for i := range made {
		line(table, made[i].cells(memory))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	_, err = fmt.Fprintf(w, "\n%s\n", strings.Join(Conclude(results).Sentences, "\n"))
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
	return slices.ContainsFunc(results, func(r sim.Result) bool { return r.Memory })
}
