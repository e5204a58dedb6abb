package nodemetrics

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
)

// column is one of the values that an exporter has.
type column struct {
	key      string
	resource cluster.Resource
	metric   usage.Metric
	window   usage.Window
}

// numColumns is how many there are.
const numColumns = 8

// columns are all of them; active is what the exporter calls its newest sample.
var columns = [numColumns]column{
	{"cpu_usage_active", cluster.CPU, usage.CPU, usage.Last},
	{"cpu_usage_avg_5m", cluster.CPU, usage.CPU, usage.Avg5m},
	{"cpu_usage_max_avg_1h", cluster.CPU, usage.CPU, maxAvg(time.Hour)},
	{"cpu_usage_max_avg_1d", cluster.CPU, usage.CPU, maxAvg(24 * time.Hour)},
	{"mem_usage_active", cluster.Memory, usage.Memory, usage.Last},
	{"mem_usage_avg_5m", cluster.Memory, usage.Memory, usage.Avg5m},
	{"mem_usage_max_avg_1h", cluster.Memory, usage.Memory, maxAvg(time.Hour)},
	{"mem_usage_max_avg_1d", cluster.Memory, usage.Memory, maxAvg(24 * time.Hour)},
}

func maxAvg(over time.Duration) usage.Window {
	return usage.Window{Kind: usage.KindMaxAvg, Over: over}
}

// answer is what one exporter says, in columns.
type answer struct {
	at     time.Time
	values [numColumns]value
}

// value is one value, if it is known; twice says that there was another under
// its key.
type value struct {
	number       float64
	known, twice bool
}

// decode reads one answer. Keys that mean nothing here may have any value; null
// is no value.
func decode(body io.Reader) (answer, error) {
	var out answer
	decoder := json.NewDecoder(body)
	if token, err := decoder.Token(); err != nil {
		return answer{}, broken(err)
	} else if token != json.Delim('{') {
		return answer{}, fmt.Errorf("expected an object, got %v", token)
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return answer{}, broken(err)
		}
		if err := out.member(decoder, key); err != nil {
			return answer{}, err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return answer{}, broken(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return answer{}, errors.New("there is more after the end")
	}
	return out, nil
}

// broken says of an end of the text that it should not be there.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (a *answer) member(decoder *json.Decoder, key json.Token) error {
	i := columnOf(key)
	if i < 0 {
		return broken(decoder.Decode(new(json.RawMessage)))
	}
	var number *float64
	if err := decoder.Decode(&number); err != nil {
		return fmt.Errorf("%q: %w", key, broken(err))
	}
	v := &a.values[i]
	switch {
	case number == nil:
	case v.known:
		v.twice = true
	default:
		v.number, v.known = *number, true
	}
	return nil
}

// columnOf returns the position of a key among the columns, or -1.
func columnOf(key json.Token) int {
	for i := range columns {
		if columns[i].key == key {
			return i
		}
	}
	return -1
}
