package thresholds

import (
	"testing"

	"github.com/evenkeel/evenkeel/observe/usage"
)

func TestSummary(t *testing.T) {
	cpu := func(window usage.Window, value, line float64) Evidence {
		return Evidence{Metric: usage.CPU, Window: window, Value: value, Evict: line, Percent: true}
	}
	cases := map[string]struct {
		evidence []Evidence
		want     string
	}{
		"nothing":              {nil, ""},
		"one window":           {[]Evidence{cpu(usage.Avg5m, 96.58, 65)}, "cpu 96.6% (avg_5m) is above the 65% evict line"},
		"windows that agree":   {[]Evidence{cpu(usage.Avg5m, 96.58, 65), cpu(hour, 96.61, 65)}, "cpu 96.6% (avg_5m, max_avg_1h) is above the 65% evict line"},
		"windows that differ":  {[]Evidence{cpu(usage.Avg5m, 96.58, 65), cpu(hour, 71, 65)}, "cpu 71.0 to 96.6% (avg_5m, max_avg_1h) is above the 65% evict line"},
		"another line of each": {[]Evidence{cpu(usage.Avg5m, 96, 65), cpu(hour, 96, 62.5)}, "cpu 96.0% (avg_5m) is above the 65% evict line, cpu 96.0% (max_avg_1h) is above the 62.5% evict line"},
		"two metrics": {
			[]Evidence{cpu(usage.Avg5m, 96, 65), {Metric: swap, Window: usage.Avg5m, Value: 3, Evict: 10, Below: true}},
			"cpu 96.0% (avg_5m) is above the 65% evict line, swap.free 3.0 (avg_5m) is below the 10 evict line",
		},
		"memory that rises": {
			[]Evidence{{Metric: usage.Memory, Window: usage.Last, Value: 85, Evict: 80, Percent: true, PercentPerMinute: 4}},
			"memory 85.0% (last) is above the 80% evict line, rising by 4.0% a minute",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Summary(tc.evidence); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
