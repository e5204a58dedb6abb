package kubelet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// exposed returns a kubelet's exposition at a time: CPU seconds and memory of the node and of
// shop/p.
func exposed(nodeCPU, podCPU float64, at time.Time) string {
	stamp := at.UnixMilli()
	return fmt.Sprintf(`# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds
# TYPE container_cpu_usage_seconds_total counter
container_cpu_usage_seconds_total{container="main",namespace="shop",pod="p"} %[2]v %[3]d
container_memory_working_set_bytes{container="main",namespace="shop",pod="p"} 5e+08 %[3]d
container_start_time_seconds{container="main",namespace="shop",pod="p"} 1.7e+09
node_cpu_usage_seconds_total %[1]v %[3]d
node_memory_working_set_bytes 4.294967296e+09 %[3]d
pod_cpu_usage_seconds_total{namespace="shop",pod="p"} %[2]v %[3]d
pod_memory_working_set_bytes{namespace="shop",pod="p"} 6e+08 %[3]d
resource_scrape_error 0
`, nodeCPU, podCPU, stamp)
}

// CPU is the growth of a counter between two scrapes. It is unknown if one of them is missing or
// the counter is unusable.
func TestRates(t *testing.T) {
	memory := func(at time.Time) usage.Reading { return last(usage.Memory, at, 4*gib) }
	second := noon.Add(15 * time.Second)
	none := []usage.Reading{memory(second)}
	cases := map[string]struct {
		first, second string
		want          []usage.Reading
		pods          []usage.PodSample
	}{
		"two scrapes": {
			first: exposed(1000, 10, noon), second: exposed(1030, 13, second),
			want: []usage.Reading{last(usage.CPU, second, 2000), memory(second)}, // 30 s in 15 s
			pods: []usage.PodSample{podSample("shop", "p", second, 200, 6e8)},    // 3 s in 15 s
		},
		"nothing was used": {
			first: exposed(1000, 10, noon), second: exposed(1000, 10, second),
			want: []usage.Reading{last(usage.CPU, second, 0), memory(second)},
			pods: []usage.PodSample{podSample("shop", "p", second, 0, 6e8)},
		},
		"counters were reset":       {first: exposed(1000, 10, noon), second: exposed(3, 1, second), want: none},
		"time went back":            {first: exposed(1000, 10, second.Add(time.Minute)), second: exposed(1030, 13, second), want: none},
		"a gap of over 5 minutes":   {first: exposed(1000, 10, second.Add(-301*time.Second)), second: exposed(1030, 13, second), want: none},
		"a gap of 5 minutes":        {first: exposed(1000, 10, second.Add(-300*time.Second)), second: exposed(1030, 13, second), want: []usage.Reading{last(usage.CPU, second, 100), memory(second)}, pods: []usage.PodSample{podSample("shop", "p", second, 10, 6e8)}},
		"the same measurement":      {first: exposed(1000, 10, second), second: exposed(1000, 10, second), want: none},
		"one beyond the other's ms": {first: exposed(1000, 10, second.Add(-time.Millisecond)), second: exposed(1001, 11, second), want: none},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			node := aNode("n1", aPod("shop", "p"))
			first, err := decodeExposition(strings.NewReader(tc.first), node)
			if err != nil {
				t.Fatal(err)
			}
			report, counters := rated(node, first, nil, clock)
			if len(report.readings) != 1 || len(report.pods) != 0 || report.problems[usage.Unreadable].Count != 2 {
				t.Errorf("one scrape gives %+v, want memory only", report)
			}
			next, err := decodeExposition(strings.NewReader(tc.second), node)
			if err != nil {
				t.Fatal(err)
			}
			report, _ = rated(node, next, counters, clock)
			if diff := cmp.Diff(tc.want, report.readings); diff != "" {
				t.Errorf("readings (-want +got):\n%s", diff)
			}
			if got := report.problems[usage.Absurd]; got.Count != 0 {
				t.Errorf("absurd: %v, want a rate that is not known", got)
			}
			if diff := cmp.Diff(tc.pods, report.pods); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
		})
	}
}

// If a kubelet has not measured again, the last rate is repeated with its original time, and the
// next rate spans the whole interval.
func TestRateIsKeptWithItsAge(t *testing.T) {
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	reading := func(seconds float64, at time.Time) point { return point{number{seconds, true}, at} }
	c := counter{}.next(reading(100, at(0))).next(reading(110, at(10)))
	for _, again := range []point{reading(110, at(10)), reading(110.4, at(10).Add(400*time.Millisecond))} {
		if got := c.next(again); got != c {
			t.Errorf("%+v after the same again, want %+v", got, c)
		}
	}
	if got := c.next(reading(130, at(20))).cores; got != (number{2, true}) {
		t.Errorf("rate %+v, want 2 cores", got)
	}
}

// A pod's usage is the kubelet's value for the pod or, if there is none, the sum of its containers,
// each with its own rate.
func TestRatesOfContainers(t *testing.T) {
	text := func(main, sidecar float64) string {
		return fmt.Sprintf(`container_cpu_usage_seconds_total{container="main",namespace="shop",pod="p"} %v
container_cpu_usage_seconds_total{namespace="shop",pod="p",container="sidecar",} %v
container_memory_working_set_bytes{container="main",namespace="shop",pod="p"} 100
container_memory_working_set_bytes{container="sidecar",namespace="shop",pod="p"} 20
`, main, sidecar)
	}
	later := noon.Add(10 * time.Second)
	cases := map[string]struct {
		second string
		want   []usage.PodSample
	}{
		"both run":                 {text(105, 51), []usage.PodSample{podSample("shop", "p", later, 600, 120)}}, // 5 s and 1 s in 10 s
		"one was restarted":        {text(2, 60), nil},                                                          // its rate is unknown, so the sum is unknown as well
		"one has no memory":        {strings.Replace(text(105, 51), "container_memory_working_set_bytes{container=\"main\"", "other{a=\"b\"", 1), nil},
		"one has come in between":  {text(105, 51) + "container_cpu_usage_seconds_total{container=\"new\",namespace=\"shop\",pod=\"p\"} 1\n", nil},
		"one has an invalid value": {strings.Replace(text(105, 51), "100", "NaN", 1), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			node := aNode("n1", aPod("shop", "p"))
			first, err := decodeExposition(strings.NewReader(text(100, 50)), node)
			if err != nil {
				t.Fatal(err)
			}
			_, counters := rated(node, first, nil, noon) // without times, values are as old as the answers
			second, err := decodeExposition(strings.NewReader(tc.second), node)
			if err != nil {
				t.Fatal(err)
			}
			report, _ := rated(node, second, counters, later)
			if diff := cmp.Diff(tc.want, report.pods); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
		})
	}
}

// A pod that has taken the name of another does not inherit the growth of that pod's counter.
func TestRateOfANamesake(t *testing.T) {
	node := aNode("n1", aPod("shop", "p"))
	x, err := decodeExposition(strings.NewReader(exposed(1000, 10, noon)), node)
	if err != nil {
		t.Fatal(err)
	}
	_, counters := rated(node, x, nil, clock)
	node.Pods[0].UID = "another"
	if x, err = decodeExposition(strings.NewReader(exposed(1030, 13, noon.Add(15*time.Second))), node); err != nil {
		t.Fatal(err)
	}
	if report, _ := rated(node, x, counters, clock); len(report.pods) != 0 || len(report.readings) != 2 {
		t.Errorf("%+v, want the node's CPU and memory only", report)
	}
}
