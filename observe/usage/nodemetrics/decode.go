package nodemetrics

import (
	"io"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/jsonscan"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// column describes one of the values that an exporter provides.
type column struct {
	key      string
	resource cluster.Resource
	metric   usage.Metric
	window   usage.Window
}

const (
	// numColumns is the number of columns of usage.
	numColumns = 8
	// allColumns includes columns of stolen CPU, which few exporters provide.
	allColumns = numColumns + 2
)

// columns lists all columns; active is the exporter's name for its newest
// sample.
var columns = [allColumns]column{
	{"cpu_usage_active", cluster.CPU, usage.CPU, usage.Last},
	{"cpu_usage_avg_5m", cluster.CPU, usage.CPU, usage.Avg5m},
	{"cpu_usage_max_avg_1h", cluster.CPU, usage.CPU, maxAvg(time.Hour)},
	{"cpu_usage_max_avg_1d", cluster.CPU, usage.CPU, maxAvg(24 * time.Hour)},
	{"mem_usage_active", cluster.Memory, usage.Memory, usage.Last},
	{"mem_usage_avg_5m", cluster.Memory, usage.Memory, usage.Avg5m},
	{"mem_usage_max_avg_1h", cluster.Memory, usage.Memory, maxAvg(time.Hour)},
	{"mem_usage_max_avg_1d", cluster.Memory, usage.Memory, maxAvg(24 * time.Hour)},
	{"cpu_steal_active", cluster.CPU, usage.CPUStolen, usage.Last},
	{"cpu_steal_avg_5m", cluster.CPU, usage.CPUStolen, usage.Avg5m},
}

func maxAvg(over time.Duration) usage.Window {
	return usage.Window{Kind: usage.KindMaxAvg, Over: over}
}

// answer holds one exporter's values, by column.
type answer struct {
	at     time.Time
	values [allColumns]value
}

// windowBytes is how much of an answer is held at a time.
const windowBytes = 1 << 10

// value is one value, if known. twice is true if its key occurs more than once.
type value struct {
	number       float64
	known, twice bool
}

// decode reads one answer. Unknown keys may have any value within the scanner's
// depth; null counts as no value.
func decode(body io.Reader) (answer, error) {
	var out answer
	scanner := jsonscan.NewReader(windowBytes, jsonscan.OfAnswers)
	scanner.Reset(body)
	if scanner.Next() != '{' { // null would look like an exporter without values
		scanner.Unexpected("an object")
	}
	for key := range scanner.Object {
		if i := slices.IndexFunc(columns[:], func(c column) bool { return c.key == string(key) }); i >= 0 {
			out.values[i].enter(scanner.Float())
		}
	}
	if err := scanner.End(); err != nil {
		return answer{}, err
	}
	return out, nil
}

func (v *value) enter(number float64, known bool) {
	switch {
	case !known:
	case v.known:
		v.twice = true
	default:
		v.number, v.known = number, true
	}
}
