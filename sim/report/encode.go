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

	"github.com/evenkeel/evenkeel/sim"
)

// document is the JSON output.
type document struct {
	Heading    Heading    `json:"heading"`
	Conclusion Conclusion `json:"verdict"`
	Results    []Row      `json:"results"`
}

// JSON writes everything. It indents the output only if it does not contain node usage,
// because every value would take a line.
func JSON(w io.Writer, heading Heading, results []sim.Result) error {
	made, err := rows(results)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // for users and scripts, not for a web page
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

// rounded keeps two decimals. Further digits are noise and would make up a third of the
// file.
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

// columns holds the columns of the CSV by their JSON names. Add new ones at the end.
var columns = []string{
	"variant", "nodes", "pods", "memory", "steps", "days", "hotPercent", "unservedPercent", "lostPercent",
	"cpuDeviation", "cpuDeviationHour", "memoryDeviation", "memoryDeviationHour", "memoryHotPercent", "peakCPUPercent",
	"evictions", "evictionsPerPodAndDay", "landed", "onPlan", "planned", "boomerangs", "helped", "pending",
	"hotMinutesPerEviction", "refused", "deployed", "evictLinePercent", "memoryEvictLinePercent",
}

// CSV writes a header and a line per variant. Unknown values are empty.
func CSV(w io.Writer, results []sim.Result) error {
	made, err := rows(results)
	if err != nil {
		return err
	}
	table := csv.NewWriter(w)
	_ = table.Write(columns) // Error reports it
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
