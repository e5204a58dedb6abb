package thresholds

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// standing is a node's position relative to its reject lines.
type standing struct{ Above, Below bool }

func TestAboveReject(t *testing.T) {
	cpu := Rule{Metric: usage.CPU, Window: usage.Avg5m, Levels: levels(45, 60, 65, 60)}
	cpuHour := Rule{Metric: usage.CPU, Window: hour, Levels: levels(none(), 60, none(), none())}
	swapping := Rule{Metric: swap, Window: usage.Avg5m, Levels: levels(40, 20, 10, 15)}.reversed()
	above, between, below := standing{Above: true}, standing{}, standing{Below: true}
	cases := map[string]struct {
		rules []Rule
		node  node
		want  standing
	}{
		"above":                             {[]Rule{cpu}, steady(6001, 10), above},
		"at the line":                       {[]Rule{cpu}, steady(6000, 10), between},
		"as far below as leave below evict": {[]Rule{cpu}, steady(5500, 10), below},
		"not as far":                        {[]Rule{cpu}, steady(5501, 10), between},
		"because of new pods": {
			[]Rule{cpu}, func() node { n := steady(5000, 10); n.more[0] = 1001; return n }(), above,
		},
		"by the newest sample alone":     {[]Rule{cpu}, over(9000, 5000, 5000), below},
		"in one of two windows":          {[]Rule{cpu, cpuHour}, over(0, 5000, 7000), between},
		"in both":                        {[]Rule{cpu, cpuHour}, over(0, 6500, 7000), above},
		"below in both":                  {[]Rule{cpu, cpuHour}, over(9000, 5000, 6000), below},
		"another metric is":              {[]Rule{cpu, {Metric: usage.Memory, Window: usage.Avg5m, Levels: levels(45, 60, 65, 60)}}, steady(1000, 61), above},
		"no reject line":                 {[]Rule{evictAt(usage.CPU, usage.Avg5m, 65)}, steady(9000, 10), below},
		"no other line":                  {[]Rule{rejectAt(usage.CPU, usage.Avg5m, 60)}, steady(6000, 10), below},
		"less is worse: below it":        {[]Rule{swapping}, signals(0, 19), above},
		"less is worse: at leave's gap":  {[]Rule{swapping}, signals(0, 25), below},
		"less is worse: not as far":      {[]Rule{swapping}, signals(0, 24), between},
		"a missing signal":               {[]Rule{swapping}, signals(0, math.NaN()), below},
		"the low line bounds how far it": {[]Rule{{Metric: usage.CPU, Window: usage.Avg5m, Levels: levels(45, 50, 80, 50)}}, steady(4500, 10), below},
		"above the low line":             {[]Rule{{Metric: usage.CPU, Window: usage.Avg5m, Levels: levels(45, 50, 80, 50)}}, steady(4501, 10), between},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := setOf(t, tc.rules...).Resolve(viewOf(tc.node))
			if diff := cmp.Diff(tc.want, standing{r.AboveReject(0), r.BelowReject(0)}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever the lines and the usage, no node is both above and below, and a busier node never ranks
// lower. With a single line, AboveReject agrees with the ceiling for landings.
func TestRejectStandingsAreInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 19))
	for range 2000 {
		low := random.Float64() * 50
		reject := low + random.Float64()*30
		evict := reject + random.Float64()*20
		rule := Rule{Metric: usage.CPU, Window: usage.Avg5m, Levels: levels(low, reject, evict, low+random.Float64()*(evict-low))}
		less := random.Int64N(10_000)
		view := viewOf(steady(less, 10), steady(less+random.Int64N(3000), 10))
		r := setOf(t, rule).Resolve(view)
		for i := range view.Nodes {
			above := r.AboveReject(i)
			if above && r.BelowReject(i) {
				t.Fatalf("%+v: node %d is above and below", rule.Levels, i)
			}
			if beyond := ForPlacing(&view.Nodes[i])[0] > r.Ceiling(i)[0]; above != beyond {
				t.Fatalf("%+v: above %v, beyond its ceiling %v at %d m", rule.Levels, above, beyond, view.Nodes[i].Predicted[1][0])
			}
		}
		if r.AboveReject(0) && !r.AboveReject(1) || r.BelowReject(1) && !r.BelowReject(0) {
			t.Fatalf("%+v: a node with %v is above one with %v", rule.Levels, view.Nodes[0].Predicted[1], view.Nodes[1].Predicted[1])
		}
	}
}
