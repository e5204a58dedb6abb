package thresholds

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

// bothStates holds the states of a node by its windows and by its newest sample.
type bothStates struct{ Windows, Newest State }

// ClassifyNow judges a node by its newest sample alone, with the lines of its windows.
func TestGlance(t *testing.T) {
	shipped := levels(45, 60, 65, 60)
	by := func(windows ...usage.Window) (rules []Rule) {
		for _, w := range windows {
			rules = append(rules, Rule{Metric: usage.CPU, Window: w, Levels: shipped})
		}
		return rules
	}
	unknown := func(n node, why reasons.Reason) node {
		n.change = func(_ *cluster.Node, read *usage.NodeUsage) { read.Unknown = why }
		return n
	}
	coming := steady(3000, 10)
	coming.more[0] = 4000
	both := by(usage.Avg5m, hour)
	deviating := []Rule{{Metric: usage.CPU, Window: usage.Avg5m, Levels: levels(10, 10, 15, 5), Deviation: true}}
	cases := map[string]struct {
		rules []Rule
		node  node
		want  bothStates
	}{
		"above in every window":               {both, steady(7000, 10), bothStates{Hot, Hot}},
		"the newest sample alone":             {both, over(7000, 4000, 4000), bothStates{Cool, Hot}},
		"everything except the newest sample": {both, over(3000, 7000, 7000), bothStates{Hot, Cool}},
		"at the line":                         {both, steady(6500, 10), bothStates{Warm, Warm}},
		"windows fill":                        {both, unknown(steady(7000, 10), reasons.WindowTooShort), bothStates{Unknown, Hot}},
		"windows fill, and it is cool":        {both, unknown(steady(4500, 10), reasons.WindowTooShort), bothStates{Unknown, Cool}},
		"a stale sample":                      {both, unknown(steady(7000, 10), reasons.UsageStale), bothStates{Unknown, Unknown}},
		"new pods are no reading":             {both, coming, bothStates{Warm, Cool}},
		"a signal":                            {[]Rule{evictAt(usage.IOPressure, usage.Avg5m, 45)}, signals(50, 90), bothStates{Hot, Hot}},
		// The mean of 20 % and 30 % is 25 %. If an unknown window counted as 50 %, 20 % would be
		// cool.
		"around the mean of newest samples": {deviating, unknown(steady(2000, 10), reasons.WindowTooShort), bothStates{Unknown, Warm}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			view := viewOf(tc.node, unknown(steady(3000, 10), tc.node.unknown()))
			for i := range view.Nodes {
				view.Nodes[i].Sampled = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			}
			r := setOf(t, tc.rules...).Resolve(view)
			if diff := cmp.Diff(tc.want, bothStates{r.ClassifyNow(0), r.Newest().ClassifyNow(0)}); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
		})
	}
}

// unknown returns why the usage of a node is unknown.
func (n *node) unknown() reasons.Reason {
	if n.change == nil {
		return ""
	}
	var record cluster.Node
	var read usage.NodeUsage
	n.change(&record, &read)
	return read.Unknown
}

// A value above a metric's highest evict line is above all of the metric's evict lines. Lines of
// other kinds and of other metrics do not count.
func TestHighestEvict(t *testing.T) {
	cpu := func(window usage.Window, evict float64) Rule { return evictAt(usage.CPU, window, evict) }
	cases := map[string]struct {
		rules []Rule
		want  float64
		has   bool
	}{
		"one window":      {[]Rule{cpu(usage.Avg5m, 65)}, 65, true},
		"two windows":     {[]Rule{cpu(usage.Avg5m, 65), cpu(hour, 80)}, 80, true},
		"a reject line":   {[]Rule{cpu(usage.Avg5m, 65), rejectAt(usage.CPU, hour, 90)}, 65, true},
		"no evict line":   {[]Rule{rejectAt(usage.CPU, hour, 90)}, 0, false},
		"another metric":  {[]Rule{evictAt(usage.Memory, hour, 90)}, 0, false},
		"no rules at all": {nil, 0, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, has := setOf(t, tc.rules...).Resolve(viewOf(steady(3000, 10))).HighestEvict(0, usage.CPU)
			if got != tc.want || has != tc.has {
				t.Errorf("%v, %v; want %v, %v", got, has, tc.want, tc.has)
			}
		})
	}
}
