package report

import (
	"slices"
	"strconv"

	"github.com/evenkeel/evenkeel/internal/sim"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
)

// Table prints a row per variant, followed by the verdict.
func Table(p *layout.Page, results []sim.Result) error {
	made, err := rows(results)
	if err != nil {
		return err
	}
	memory := withMemory(results)
	header := []string{"VARIANT", "HOT%", "UNSERVED%", "DEV 5m", "DEV 1h"}
	if memory {
		header = append(header, "MEM HOT%", "MEM DEV 1h")
	}
	header = append(header, "EVICTIONS", "PER POD PER DAY", "HOT MIN/EVICTION", "ON PLAN%", "BOOMERANGS", "HELPED%")
	all := make([]layout.Column, len(header))
	for i, title := range header {
		all[i].Title = title
	}
	for i := range made {
		layout.Row(all, made[i].cells(memory)...)
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
