package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"

	"github.com/evenkeel/evenkeel/internal/sim"
)

// document is what JSON writes.
type document struct {
	Heading    Heading    `json:"heading"`
	Conclusion Conclusion `json:"verdict"`
	Results    []Row      `json:"results"`
}

// JSON writes everything, indented unless the usage of nodes was kept, which
// would make a line of every value.
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
	if err := encoder.Encode(document{Heading: heading, Conclusion: Conclude(results), Results: made}); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}

// rounded leaves two digits after the point: the rest is a third of the file
// and nobody's knowledge.
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
var columns = []string{
	"variant", "nodes", "pods", "memory", "steps", "days", "hotPercent", "unservedPercent", "lostPercent",
	"cpuDeviation", "cpuDeviationHour", "memoryDeviation", "memoryDeviationHour", "memoryHotPercent", "peakCPUPercent",
	"evictions", "evictionsPerPodAndDay", "landed", "onPlan", "planned", "boomerangs", "helped", "pending",
	"hotMinutesPerEviction", "refused", "deployed",
}

// CSV writes a line per variant, under a line with the names of the columns.
// What is not known is empty.
func CSV(w io.Writer, results []sim.Result) error {
	made, err := rows(results)
	if err != nil {
		return err
	}
	table := csv.NewWriter(w)
	_ = table.Write(columns) // Error tells
	for i := range made {
		row := reflect.ValueOf(made[i])
		cells := make([]string, len(columns))
		for _, field := range reflect.VisibleFields(row.Type()) {
			if k := slices.Index(columns, jsonName(field)); k >= 0 {
				cells[k] = cell(row.FieldByIndex(field.Index))
			}
		}
		_ = table.Write(cells)
	}
	table.Flush()
	if err := table.Error(); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}

func cell(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	case v.Kind() != reflect.Pointer:
		return fmt.Sprint(v)
	case v.IsNil():
		return ""
	}
	return cell(v.Elem())
}
