package report

import (
	"slices"
	"strconv"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/sim"
)

// Table prints a row per variant, followed by the verdict.
func Table(p *layout.Page, results []sim.Result) error {
	made, err := rows(results)
	if err != nil {
		return err
	}
	memory, lines := withMemory(results), withLines(results)
	header := []string{"VARIANT", "HOT%", "UNSERVED%", "DEV 5m", "DEV 1h"}
	if memory {
		header = append(header, "MEM HOT%", "MEM DEV 1h")
	}
	header = append(header, "EVICTIONS", "PER POD PER DAY", "HOT MIN/EVICTION", "ON PLAN%", "BOOMERANGS", "HELPED%")
	if lines {
		header = slices.Insert(header, 1, "LINE%")
	}
	all := make([]layout.Column, len(header))
	for i, title := range header {
		all[i].Title = title
	}
	for i := range made {
		cells := made[i].cells(memory)
		if lines {
			cells = slices.Insert(cells, 1, made[i].Line())
		}
		layout.Row(all, cells...)
	}
	p.Table("", all...)
	p.Line("", "")
	for _, sentence := range Conclude(results).Sentences {
		p.Text("", "", "", sentence)
	}
	return nil
}

func (r *Row) cells(memory bool) []string {
	cells := []string{layout.Printable(r.Variant), share(r.HotPercent), share(r.UnservedPercent), points(r.CPUDeviation), known(r.CPUDeviationHour)}
	if memory {
		cells = append(cells, share(r.MemoryHotPercent), known(r.MemoryDeviationHour))
	}
	return append(cells, strconv.Itoa(r.Evictions), rate(r.EvictionsPerPodAndDay), known(r.HotMinutesPerEviction),
		ratio(r.OnPlan, r.Planned), strconv.Itoa(r.Boomerangs), ratio(r.Helped, r.Evictions))
}

func withMemory(results []sim.Result) bool {
	return slices.ContainsFunc(results, func(r sim.Result) bool { return r.Memory })
}

// withLines reports whether any variant moves pods off nodes above a line.
func withLines(results []sim.Result) bool {
	return slices.ContainsFunc(results, func(r sim.Result) bool { return r.EvictLinePercent != nil || r.MemoryEvictLinePercent != nil })
}

// Line formats the usage above which the variant moves pods off a node: CPU usage and, if
// memory was replayed, memory usage.
func (r *Row) Line() string {
	cpu := percentOrDash(r.EvictLinePercent)
	if !r.Memory || r.EvictLinePercent == nil && r.MemoryEvictLinePercent == nil {
		return cpu
	}
	return cpu + "/" + percentOrDash(r.MemoryEvictLinePercent)
}

func percentOrDash(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}
