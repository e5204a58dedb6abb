package annotations

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

func TestHostileValues(t *testing.T) {
	const at = ",2026-11-21T11:58:00Z"
	cases := map[string]struct {
		value string
		cause usage.Cause
	}{
		"nothing":                           {"", usage.Unreadable},
		"no comma":                          {"0.38000", usage.Unreadable},
		"a comma alone":                     {",", usage.Unreadable},
		"three parts":                       {"0.38000" + at + ",1", usage.Unreadable},
		"a short stamp":                     {"0.38000,2026", usage.Unreadable},
		"a stamp without Z":                 {"0.38000,2026-11-21T11:58:00", usage.Unreadable},
		"a stamp with an offset":            {"0.38000,2026-11-21T11:58:00+08:00", usage.Unreadable},
		"the 31st of November":              {"0.38000,2026-11-31T11:58:00Z", usage.Unreadable},
		"no number":                         {at, usage.Unreadable},
		"words":                             {"much" + at, usage.Unreadable},
		"an exponent":                       {"1e9" + at, usage.Unreadable},
		"hexadecimal":                       {"0x1p4" + at, usage.Unreadable},
		"two points":                        {"0.3.8" + at, usage.Unreadable},
		"spaces":                            {" 0.38000" + at, usage.Unreadable},
		"a megabyte of digits":              {strings.Repeat("1", 1<<20) + at, usage.Unreadable},
		"NaN":                               {"NaN" + at, usage.Absurd},
		"infinity":                          {"+Inf" + at, usage.Absurd},
		"negative":                          {"-0.38000" + at, usage.Absurd},
		"less than nothing, rounded":        {"-0.00000" + at, usage.Absurd},
		"a fraction that is a percentage":   {"38.00000" + at, usage.Contradictory},
		"1000 %":                            {"1000.0" + at, usage.Absurd},
		"either a fraction or a percentage": {"0.38" + at, usage.Contradictory},
		"one of what":                       {"1" + at, usage.Contradictory},
		"from long ago":                     {"0.38000,1970-01-01T00:00:00Z", usage.Stale},
		"from the year zero":                {"0.38000,0000-01-01T00:00:00Z", usage.Stale},
		"from the end of time":              {"0.38000,9999-12-31T23:59:59Z", usage.Future},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, zone := range []string{"", "UTC"} {
				s := newSource(t, Config{Timezone: zone})
				batch := sample(t, s, node("a", map[string]string{"cpu_usage_avg_5m": tc.value}))
				if diff := cmp.Diff(map[usage.Cause]int{tc.cause: 1}, counts(batch.Problems)); diff != "" {
					t.Errorf("problems (-want +got):\n%s", diff)
				}
				if len(batch.Nodes) > 0 {
					t.Errorf("taken: %v", batch.Nodes)
				}
			}
		})
	}
}

// One unreadable node does not affect the others.
func TestOneBadNodeAmongMany(t *testing.T) {
	bad := node("bad", map[string]string{"cpu_usage_avg_5m": "NaN,NaN,NaN"})
	nodes := append(alike(30, "n", "cpu_usage_avg_5m", Format(38, Fraction, noon, shanghai)), bad, node("bare", nil))
	batch := sample(t, newSource(t, Config{}), nodes...)
	if got := len(batch.Nodes); got != 30 {
		t.Errorf("%d nodes, want 30", got)
	}
}

func TestHostileNodes(t *testing.T) {
	thousands := map[string]string{}
	for i := range 5000 {
		thousands[fmt.Sprintf("cpu_usage_avg_%ds", 60+i)] = Format(38, Fraction, noon, nil)
	}
	empty := node("empty", map[string]string{"cpu_usage_avg_5m": Format(38, Fraction, noon, nil)})
	empty.Node.Capacity = cluster.Amounts{}
	cases := map[string]struct {
		node        *cluster.NodePods
		taken, left int
	}{
		"thousands of windows": {node("a", thousands), maxReadings, 5000 - maxReadings},
		"no capacity":          {empty, 0, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			batch := sample(t, newSource(t, Config{}), tc.node)
			if got := readings(batch); got != tc.taken {
				t.Errorf("taken: %d, want %d", got, tc.taken)
			}
			if got := batch.Problems[usage.Unreadable].Count; got != tc.left {
				t.Errorf("left out: %d, want %d", got, tc.left)
			}
		})
	}
}

// A written value is read back exactly, to its last digit and to the second.
func FuzzParseReadsWhatFormatWrites(f *testing.F) {
	f.Add(38.5, int64(1_790_000_000), int16(480), true)
	f.Add(0.0, int64(0), int16(0), false)
	f.Add(150.0, int64(4_000_000_000), int16(-720), true)
	f.Fuzz(func(t *testing.T, percent float64, seconds int64, offset int16, asFraction bool) {
		if !(percent >= 0 && percent <= 150) || seconds < -60_000_000_000 || seconds > 250_000_000_000 {
			t.Skip("no writer writes this")
		}
		percent = math.Abs(percent) // no negative zero
		unit, grain := Percent, 0.1
		if asFraction {
			unit, grain = Fraction, 0.001
		}
		zone := time.FixedZone("", int(offset%(24*60))*60)
		at := time.Unix(seconds, 0)
		value, cause := Parse(Format(percent, unit, at, zone))
		if cause != "" {
			t.Fatalf("%q is %s", Format(percent, unit, at, zone), cause)
		}
		got, read, cause := value.Percent(Auto)
		if cause != "" || read != unit || math.Abs(got-percent) > grain/2+1e-9 {
			t.Errorf("%v written as %s is read as %v in %s (%s)", percent, unit, got, read, cause)
		}
		if !value.In(zone).Equal(at) {
			t.Errorf("%v is read as %v", at.UTC(), value.In(zone).UTC())
		}
		again, _ := Parse(Format(got, unit, value.In(zone), zone))
		if again != value {
			t.Errorf("%+v written again is %+v", value, again)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0.38000,2026-11-21T11:58:00Z", "38.0,2026-11-21T11:58:00Z", "NaN,x", ",,,,,,", "-0,2026-11-21T11:58:00.5Z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, cause := Parse(text)
		if cause != "" {
			return
		}
		if !(value.Number >= 0) || math.IsInf(value.Number, 0) {
			t.Errorf("%q has the number %v", text, value.Number)
		}
		if percent, _, cause := value.Percent(Auto); cause == "" && !(percent >= 0 && percent <= highestPercent) {
			t.Errorf("%q is %v %%", text, percent)
		}
	})
}

func TestKeys(t *testing.T) {
	cases := map[string]struct {
		metric usage.Metric
		window usage.Window
		want   string
	}{
		"cpu":           {usage.CPU, usage.Avg5m, "cpu_usage_avg_5m"},
		"memory":        {usage.Memory, max1d, "mem_usage_max_avg_1d"},
		"what has none": {usage.IOPressure, usage.Avg5m, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			key := Key(tc.metric, tc.window)
			if key != tc.want {
				t.Errorf("got %q, want %q", key, tc.want)
			}
			metric, window, ok := ParseKey(key)
			if ok != (tc.want != "") || ok && (metric != tc.metric || window != tc.window) {
				t.Errorf("%q is read as %s over %s (%v)", key, metric, window, ok)
			}
		})
	}
}
