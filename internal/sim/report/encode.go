package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/evenkeel/evenkeel/internal/sim"
)

// document is what JSON writes.
type document struct {
	Heading Heading `json:"heading"`
	Verdict Verdict `json:"verdict"`
	Results []Row   `json:"results"`
}

// JSON writes everything, indented unless the usage of nodes was kept, which would make a line of every value.
func JSON(w io.Writer, heading Heading, results []sim.Result) error {
	made, err := rows(results)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(w)
	kept := false
	for i := range made {
		kept = kept || len(made[i].Usage) > 0
		made[i].Usage = rounded(made[i].Usage)
	}
	if !kept {
		encoder.SetIndent("", "  ")
	}
	if err := encoder.Encode(document{Heading: heading, Verdict: Judge(results), Results: made}); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}

// rounded leaves two digits after the point: the rest is a third of the file and nobody's knowledge.
func rounded(usage [][]float64) [][]float64 {
	short := make([][]float64, len(usage))
	for i, row := range usage {
		short[i] = make([]float64, len(row))
		for k, v := range row {
			short[i][k] = math.Round(v*100) / 100
		}
	}
	return short
}

// columns of the CSV, by the names of the JSON; new ones are added at the end.
var columns = []struct {
	name string
	of   func(*Row) string
}{
	{"variant", func(r *Row) string { return r.Variant }},
	{"nodes", func(r *Row) string { return strconv.Itoa(r.Nodes) }},
	{"pods", func(r *Row) string { return strconv.Itoa(r.Pods) }},
	{"memory", func(r *Row) string { return strconv.FormatBool(r.Memory) }},
	{"steps", func(r *Row) string { return strconv.Itoa(r.Steps) }},
	{"days", func(r *Row) string { return number(r.Days) }},
	{"hotPercent", func(r *Row) string { return number(r.HotPercent) }},
	{"unservedPercent", func(r *Row) string { return number(r.UnservedPercent) }},
	{"lostPercent", func(r *Row) string { return number(r.LostPercent) }},
	{"cpuDeviation", func(r *Row) string { return number(r.CPUDeviation) }},
	{"cpuDeviationHour", func(r *Row) string { return number(r.CPUDeviationHour) }},
	{"memoryDeviation", func(r *Row) string { return number(r.MemoryDeviation) }},
	{"memoryDeviationHour", func(r *Row) string { return number(r.MemoryDeviationHour) }},
	{"memoryHotPercent", func(r *Row) string { return number(r.MemoryHotPercent) }},
	{"peakCPUPercent", func(r *Row) string { return number(r.PeakCPUPercent) }},
	{"evictions", func(r *Row) string { return strconv.Itoa(r.Evictions) }},
	{"evictionsPerPodAndDay", func(r *Row) string { return number(r.EvictionsPerPodAndDay) }},
	{"landed", func(r *Row) string { return strconv.Itoa(r.Landed) }},
	{"onPlan", func(r *Row) string { return strconv.Itoa(r.OnPlan) }},
	{"planned", func(r *Row) string { return strconv.Itoa(r.Planned) }},
	{"boomerangs", func(r *Row) string { return strconv.Itoa(r.Boomerangs) }},
	{"helped", func(r *Row) string { return strconv.Itoa(r.Helped) }},
	{"pending", func(r *Row) string { return strconv.Itoa(r.Pending) }},
	{"hotMinutesPerEviction", func(r *Row) string {
		if r.HotMinutesPerEviction == nil {
			return ""
		}
		return number(*r.HotMinutesPerEviction)
	}},
	{"refused", func(r *Row) string { return strconv.Itoa(r.Refused) }},
	{"deployed", func(r *Row) string { return strconv.Itoa(r.Deployed) }},
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// CSV writes a line per variant, under a line with the names of the columns. What is not known is empty.
func CSV(w io.Writer, results []sim.Result) error {
	made, err := rows(results)
	if err != nil {
		return err
	}
	table := csv.NewWriter(w)
	cells := make([]string, len(columns))
	for k := range columns {
		cells[k] = columns[k].name
	}
	_ = table.Write(cells) // Error tells
	for i := range made {
		for k := range columns {
			cells[k] = columns[k].of(&made[i])
		}
		_ = table.Write(cells)
	}
	table.Flush()
	if err := table.Error(); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}
