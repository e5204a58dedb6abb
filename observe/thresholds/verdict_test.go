package thresholds

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// A node is over if any metric is above its evict line in every window for which the metric has
// one.
func TestOver(t *testing.T) {
	cpu5m, cpuHour := evictAt(usage.CPU, usage.Avg5m, 65), evictAt(usage.CPU, hour, 65)
	available := evictAt(MemoryAvailable, usage.Avg5m, 10).reversed()
	io, swapFree := evictAt(usage.IOPressure, usage.Avg5m, 40), evictAt(swap, usage.Avg5m, 20).reversed()
	nan := math.NaN()
	cases := map[string]struct {
		rules []Rule
		node  node
		want  usage.Metric
	}{
		"no rules":                              {nil, steady(10_000, 100), ""},
		"no line to be over":                    {[]Rule{rejectAt(usage.CPU, usage.Avg5m, 50)}, steady(10_000, 0), ""},
		"at the line":                           {[]Rule{cpu5m}, steady(6500, 0), ""},
		"above it":                              {[]Rule{cpu5m}, steady(6501, 0), usage.CPU},
		"above it in another window":            {[]Rule{cpu5m}, over(9000, 6500, 9000), ""},
		"both windows":                          {[]Rule{cpu5m, cpuHour}, over(0, 6501, 6501), usage.CPU},
		"one of two windows":                    {[]Rule{cpu5m, cpuHour}, over(9000, 6501, 6500), ""},
		"the other of two windows":              {[]Rule{cpu5m, cpuHour}, over(9000, 6500, 6501), ""},
		"a window without a line has no effect": {[]Rule{cpu5m, rejectAt(usage.CPU, hour, 1)}, over(0, 6501, 0), usage.CPU},
		"one of two metrics":                    {[]Rule{cpu5m, evictAt(usage.Memory, usage.Avg5m, 80)}, steady(6500, 81), usage.Memory},
		"the first of two metrics":              {[]Rule{cpu5m, evictAt(usage.Memory, usage.Avg5m, 80)}, steady(6501, 81), usage.CPU},
		"a tenth of capacity is left":           {[]Rule{available}, steady(0, 108), ""},
		"less than a tenth of capacity is left": {[]Rule{available}, steady(0, 109), MemoryAvailable},
		"no capacity to be a tenth of": {[]Rule{available}, node{average: [2]int64{0, 119}, change: func(n *cluster.Node, _ *usage.NodeUsage) {
			n.Capacity = cluster.Amounts{}
		}}, ""},
		"a pressure at its line":               {[]Rule{io}, signals(40, nan), ""},
		"a pressure above it":                  {[]Rule{io}, signals(40.1, nan), usage.IOPressure},
		"an unknown pressure":                  {[]Rule{io}, signals(nan, nan), ""},
		"less is worse, and enough":            {[]Rule{swapFree}, signals(nan, 20), ""},
		"less is worse, and too little":        {[]Rule{swapFree}, signals(nan, 19.9), swap},
		"lower is worse, and it is unknown":    {[]Rule{swapFree}, signals(nan, nan), ""},
		"a window that the view does not have": {[]Rule{evictAt(usage.CPU, usage.Window{Kind: usage.KindAvg, Over: time.Hour}, 1)}, steady(9000, 0), ""},
		"and one that it has":                  {[]Rule{evictAt(usage.CPU, usage.Window{Kind: usage.KindAvg, Over: time.Hour}, 1), cpu5m}, steady(9000, 0), usage.CPU},
		"a signal that the view does not have": {[]Rule{evictAt("nobody.knows", usage.Last, 0)}, steady(9000, 0), ""},
		"a pressure without an evict level":    {[]Rule{rejectAt(usage.IOPressure, usage.Last, 1)}, signals(90, nan), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := resolve(t, tc.node, tc.rules...)
			got, ok := r.Over(0)
			if got != tc.want || ok != (tc.want != "") {
				t.Errorf("over by %q, %v; want %q", got, ok, tc.want)
			}
			if need := r.Need(0, cluster.Amounts{}); !ok && need != (cluster.Amounts{}) {
				t.Errorf("not over, and needs %v", need)
			}
			if evidence := r.Evidence(0); ok != (len(evidence) > 0) {
				t.Errorf("over %v, evidence %v", ok, evidence)
			}
		})
	}
}

// A hot node has left when no metric is measured above its leave line in any window. A node is cool
// when none is predicted above its low line.
func TestLeftAndCool(t *testing.T) {
	line := func(metric usage.Metric, window usage.Window) Rule {
		return Rule{Metric: metric, Window: window, Levels: levels(40, none(), none(), 50)}
	}
	cpu := line(usage.CPU, usage.Avg5m)
	available := Rule{Metric: MemoryAvailable, Window: usage.Avg5m, Levels: levels(50, none(), none(), 40)}.reversed()
	io := Rule{Metric: usage.IOPressure, Window: usage.Last, Levels: levels(10, none(), none(), 20)}
	expecting := func(n node, more int64) node {
		n.more[0] = more
		return n
	}
	cases := map[string]struct {
		rules      []Rule
		node       node
		left, cool bool
	}{
		"no rules":                          {nil, steady(10_000, 100), true, true},
		"at the low line":                   {[]Rule{cpu}, steady(4000, 0), true, true},
		"above the low line":                {[]Rule{cpu}, steady(4001, 0), true, false},
		"at the leave line":                 {[]Rule{cpu}, steady(5000, 0), true, false},
		"above the leave line":              {[]Rule{cpu}, steady(5001, 0), false, false},
		"pods are on their way":             {[]Rule{cpu}, expecting(steady(4000, 0), 1), true, false},
		"pods on their way are no evidence": {[]Rule{cpu}, expecting(steady(4000, 0), 9000), true, false},
		"one window is above":               {[]Rule{cpu, line(usage.CPU, hour)}, over(0, 4000, 5001), false, false},
		"one metric is above":               {[]Rule{cpu, line(usage.Memory, usage.Avg5m)}, steady(4000, 41), true, false},
		"half of the capacity is left":      {[]Rule{available}, steady(0, 60), true, true},
		"less than half is left":            {[]Rule{available}, steady(0, 61), true, false},
		"less than two fifths are left":     {[]Rule{available}, steady(0, 73), false, false},
		"a pressure above":                  {[]Rule{cpu, io}, node{io: 21}, false, false},
		"an unknown pressure":               {[]Rule{cpu, io}, node{io: math.NaN()}, true, true},
		"only an evict line":                {[]Rule{evictAt(usage.CPU, usage.Avg5m, 65)}, steady(10_000, 0), true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := resolve(t, tc.node, tc.rules...)
			if left, cool := r.Left(0), r.Cool(0); left != tc.left || cool != tc.cool {
				t.Errorf("left %v, cool %v; want %v, %v", left, cool, tc.left, tc.cool)
			}
		})
	}
}

func TestNeed(t *testing.T) {
	cpu := evictAt(usage.CPU, usage.Avg5m, 65)
	memory, available := evictAt(usage.Memory, usage.Avg5m, 80), evictAt(MemoryAvailable, usage.Avg5m, 10).reversed()
	nan := math.NaN()
	cases := map[string]struct {
		rules []Rule
		node  node
		left  cluster.Amounts
		want  cluster.Amounts
	}{
		"not over":                      {rules: []Rule{cpu}, node: steady(6500, 0)},
		"to the line":                   {rules: []Rule{cpu}, node: steady(9000, 0), want: cluster.Amounts{2500, 0}},
		"less the usage that left":      {rules: []Rule{cpu}, node: steady(9000, 0), left: cluster.Amounts{2000, gib}, want: cluster.Amounts{500, 0}},
		"everything has left":           {rules: []Rule{cpu}, node: steady(9000, 0), left: cluster.Amounts{2501, 0}},
		"more has come than left":       {rules: []Rule{cpu}, node: steady(9000, 0), left: cluster.Amounts{-500, 0}, want: cluster.Amounts{3000, 0}},
		"the window that needs least":   {rules: []Rule{cpu, evictAt(usage.CPU, hour, 80)}, node: over(0, 9000, 8500), want: cluster.Amounts{500, 0}},
		"least of all the first":        {rules: []Rule{evictAt(usage.CPU, hour, 80), cpu}, node: over(0, 9000, 8500), want: cluster.Amounts{500, 0}},
		"a window without a line":       {rules: []Rule{cpu, rejectAt(usage.CPU, usage.Last, 10)}, node: over(6600, 9000, 0), want: cluster.Amounts{2500, 0}},
		"both resources":                {rules: []Rule{cpu, memory}, node: steady(9000, 90), want: cluster.Amounts{2500, 10 * gib}},
		"available memory, of capacity": {rules: []Rule{available}, node: steady(0, 115), want: cluster.Amounts{0, 7 * gib}},
		"the higher of two metrics":     {rules: []Rule{memory, available}, node: steady(0, 115), want: cluster.Amounts{0, 35 * gib}},
		// 5000m at a pressure of 80, of which 40 is allowed: half of the usage
		"a pressure in proportion":           {rules: []Rule{evictAt(usage.IOPressure, usage.Avg5m, 40)}, node: signals(80, nan), want: cluster.Amounts{2500, 0}},
		"a pressure that memory relieves":    {rules: []Rule{evictAt(usage.IOPressure, usage.Avg5m, 30).relieves(cluster.Memory)}, node: signals(40, nan), want: cluster.Amounts{0, 10 * gib}},
		"a pressure and cpu":                 {rules: []Rule{cpu, evictAt(usage.IOPressure, usage.Avg5m, 40)}, node: hotAnd(80), want: cluster.Amounts{4500, 0}},
		"a pressure that nothing relieves":   {rules: []Rule{cpu, evictAt(usage.IOPressure, usage.Avg5m, 30).relieves(Nothing)}, node: signals(40, nan)},
		"one that nothing relieves, and cpu": {rules: []Rule{cpu, evictAt(usage.IOPressure, usage.Avg5m, 40).relieves(Nothing)}, node: hotAnd(80), want: cluster.Amounts{2500, 0}},
		"a pressure of which none is fine":   {rules: []Rule{evictAt(usage.IOPressure, usage.Avg5m, 0)}, node: signals(1, nan), want: cluster.Amounts{5000, 0}},
		// the line is 20 and the value 15: a quarter of the line is missing
		"less is worse, in proportion to the line": {rules: []Rule{evictAt(swap, usage.Avg5m, 20).reversed().relieves(cluster.Memory)}, node: signals(nan, 15), want: cluster.Amounts{0, 10 * gib}},
		"less is worse, and nothing is left":       {rules: []Rule{evictAt(swap, usage.Avg5m, 20).reversed().relieves(cluster.Memory)}, node: signals(nan, 0), want: cluster.Amounts{0, 40 * gib}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := resolve(t, tc.node, tc.rules...).Need(0, tc.left); got != tc.want {
				t.Errorf("need %v, want %v", got, tc.want)
			}
		})
	}
}

func hotAnd(io float64) node {
	n := steady(9000, 40)
	n.io = io
	return n
}

// Without the usage that Need returns, the node is no longer over by cpu or memory in avg_5m. The
// result is also no more than needed: if slightly less is removed, the node is still over.
func TestNeedIsEnoughAndNotTooMuch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		n := steady(0, 0)
		n.average = [2]int64{rng.Int64N(40_000), rng.Int64N(400)}
		allocatable := cluster.Amounts{1 + rng.Int64N(30_000), 1 + rng.Int64N(300*gib)}
		n.change = func(record *cluster.Node, _ *usage.NodeUsage) {
			record.Allocatable, record.Capacity = allocatable, allocatable.Plus(cluster.Amounts{0, rng.Int64N(20 * gib)})
		}
		rules := []Rule{
			evictAt(usage.CPU, usage.Avg5m, 100*rng.Float64()), evictAt(usage.Memory, usage.Avg5m, 100*rng.Float64()),
			evictAt(MemoryAvailable, usage.Avg5m, 50*rng.Float64()).reversed(),
		}
		view, set := viewOf(n), setOf(t, rules...)
		metric, hot := set.Resolve(view).Over(0)
		need := set.Resolve(view).Need(0, cluster.Amounts{})
		if hot != (need != cluster.Amounts{}) {
			t.Fatalf("over %q: %v, need %v", metric, hot, need)
		}
		before := view.Nodes[0].Current[usage.AtAvg5m]
		// rounded to one byte
		view.Nodes[0].Current[usage.AtAvg5m] = before.Minus(need).Minus(cluster.Amounts{0, 1})
		if metric, still := set.Resolve(view).Over(0); still {
			t.Fatalf("%v of %v without %v is still over %q", before, allocatable, need, metric)
		}
		for resource := range need {
			if need[resource] == 0 {
				continue
			}
			short := before.Minus(need)
			short[resource] += 2
			view.Nodes[0].Current[usage.AtAvg5m] = short
			if _, still := set.Resolve(view).Over(0); !still {
				t.Fatalf("%v of %v: less than %v was enough", before, allocatable, need)
			}
		}
	}
}

// Ceiling returns the highest prediction, as returned by ForPlacing, that a node may have.
func TestCeiling(t *testing.T) {
	most := int64(math.MaxInt64)
	nan := math.NaN()
	lasting := func(n node, last int64) node {
		n.last[0] = last
		return n
	}
	cases := map[string]struct {
		rules []Rule
		node  node
		want  cluster.Amounts
	}{
		"no rules":                              {nil, steady(5000, 10), cluster.Amounts{most, most}},
		"no reject line":                        {[]Rule{evictAt(usage.CPU, usage.Avg5m, 65)}, steady(5000, 10), cluster.Amounts{most, most}},
		"the line, whatever the usage":          {[]Rule{rejectAt(usage.CPU, usage.Avg5m, 60)}, steady(9000, 10), cluster.Amounts{6000, most}},
		"each resource has its own":             {[]Rule{rejectAt(usage.CPU, usage.Avg5m, 60), rejectAt(usage.Memory, usage.Avg5m, 70)}, steady(0, 0), cluster.Amounts{6000, 70 * gib}},
		"the lowest of short windows":           {[]Rule{rejectAt(usage.CPU, usage.Avg5m, 60), rejectAt(usage.CPU, usage.Last, 55)}, over(1, 2, 3), cluster.Amounts{5500, most}},
		"a long window has the same value":      {[]Rule{rejectAt(usage.CPU, hour, 60)}, over(3000, 3000, 3000), cluster.Amounts{6000, most}},
		"a long window has a lower value":       {[]Rule{rejectAt(usage.CPU, hour, 60)}, over(3000, 3000, 1000), cluster.Amounts{6000, most}},
		"a long window is 2000m higher":         {[]Rule{rejectAt(usage.CPU, hour, 60)}, over(3000, 3000, 5000), cluster.Amounts{4000, most}},
		"above the higher of the short windows": {[]Rule{rejectAt(usage.CPU, hour, 60)}, lasting(over(0, 3000, 5000), 4500), cluster.Amounts{5500, most}},
		"a long window is above its line":       {[]Rule{rejectAt(usage.CPU, hour, 60)}, over(1000, 1000, 9000), cluster.Amounts{-2000, most}},
		"available memory, of capacity":         {[]Rule{rejectAt(MemoryAvailable, usage.Avg5m, 20).reversed()}, steady(0, 10), cluster.Amounts{most, 96 * gib}},
		"and of allocatable":                    {[]Rule{rejectAt(MemoryAvailable, usage.Avg5m, 20).reversed(), rejectAt(usage.Memory, usage.Avg5m, 90)}, steady(0, 10), cluster.Amounts{most, 90 * gib}},
		"a pressure at its line":                {[]Rule{rejectAt(usage.IOPressure, usage.Avg5m, 30), rejectAt(usage.CPU, usage.Avg5m, 60)}, signals(30, nan), cluster.Amounts{6000, most}},
		"a pressure beyond its line":            {[]Rule{rejectAt(usage.CPU, usage.Avg5m, 60), rejectAt(usage.IOPressure, usage.Avg5m, 30)}, signals(30.1, nan), cluster.Amounts{}},
		"an unknown pressure":                   {[]Rule{rejectAt(usage.IOPressure, usage.Avg5m, 30)}, signals(nan, nan), cluster.Amounts{most, most}},
		"too little available":                  {[]Rule{rejectAt(swap, usage.Avg5m, 20).reversed()}, signals(nan, 19), cluster.Amounts{}},
		"enough available":                      {[]Rule{rejectAt(swap, usage.Avg5m, 20).reversed()}, signals(nan, 20), cluster.Amounts{most, most}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := resolve(t, tc.node, tc.rules...).Ceiling(0); got != tc.want {
				t.Errorf("ceiling %v, want %v", got, tc.want)
			}
		})
	}
}

// If usage is added up to a node's ceiling, no window exceeds its reject line. One more milli-core
// does exceed it.
func TestCeilingKeepsRejectLines(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		n := over(rng.Int64N(6000), rng.Int64N(6000), rng.Int64N(6000))
		rules := []Rule{rejectAt(usage.CPU, usage.Avg5m, 60+30*rng.Float64()), rejectAt(usage.CPU, hour, 60+30*rng.Float64())}
		view := viewOf(n)
		r := setOf(t, rules...).Resolve(view)
		room := r.Ceiling(0)[0] - ForPlacing(&view.Nodes[0])[0]
		beyond := func(more int64) bool {
			for _, rule := range rules {
				used := ForPlacing(&view.Nodes[0])[0]
				if rule.Window == hour {
					used = max(used, n.highest[0])
				}
				if 100*float64(used+more)/10_000 > rule.Levels.Reject {
					return true
				}
			}
			return false
		}
		if beyond(room) || !beyond(room+1) {
			t.Fatalf("%v under %v and %v: room for %d, beyond %v, with one more %v",
				n, rules[0].Levels.Reject, rules[1].Levels.Reject, room, beyond(room), beyond(room+1))
		}
	}
}

// The source span is that of the shortest window that makes a node hot. Windows without a line have
// no effect.
func TestSourceSpan(t *testing.T) {
	cpu5m, cpuHour := evictAt(usage.CPU, usage.Avg5m, 65), evictAt(usage.CPU, hour, 65)
	cases := map[string]struct {
		rules []Rule
		node  node
		want  time.Duration
	}{
		"not over":                            {[]Rule{cpu5m}, steady(0, 0), 0},
		"one window":                          {[]Rule{cpuHour}, steady(9000, 0), time.Hour},
		"the shorter of two":                  {[]Rule{cpuHour, cpu5m}, steady(9000, 0), 5 * time.Minute},
		"a sample":                            {[]Rule{cpuHour, evictAt(usage.CPU, usage.Last, 65)}, steady(9000, 0), 0},
		"a line to reject by":                 {[]Rule{cpu5m, rejectAt(usage.CPU, usage.Last, 65)}, steady(9000, 0), 5 * time.Minute},
		"a metric that is not":                {[]Rule{cpuHour, evictAt(usage.Memory, usage.Last, 65)}, steady(9000, 0), time.Hour},
		"the shorter of two that make it hot": {[]Rule{cpuHour, evictAt(usage.Memory, usage.Avg5m, 65)}, steady(9000, 90), 5 * time.Minute},
		"an hour summed up in here": {[]Rule{cpuHour}, node{highest: [2]int64{9000, 0}, change: func(_ *cluster.Node, read *usage.NodeUsage) {
			read.SourceSpan[2] = 0
		}}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := resolve(t, tc.node, tc.rules...).SourceSpan(0); got != tc.want {
				t.Errorf("source span %v, want %v", got, tc.want)
			}
		})
	}
}

func TestForPlacing(t *testing.T) {
	n := node{last: [2]int64{9000, 10}, average: [2]int64{3000, 40}, highest: [2]int64{9999, 99}, more: [2]int64{500, 1}}
	if got, want := ForPlacing(&viewOf(n).Nodes[0]), (cluster.Amounts{9500, 41 * gib}); got != want {
		t.Errorf("ForPlacing is %v, want %v", got, want)
	}
	view := viewOf(n)
	ForPlacing(&view.Nodes[0])
	if view.Nodes[0].Predicted[usage.AtAvg5m] != (cluster.Amounts{3500, 41 * gib}) {
		t.Error("ForPlacing changed the view")
	}
}

// Evidence describes in the policy's terms each line that a node is over.
func TestEvidence(t *testing.T) {
	hot := steady(9712, 110)
	hot.highest[0], hot.swap, hot.io = 8000, 4.25, 99
	r := resolve(t, hot,
		evictAt(usage.CPU, usage.Avg5m, 65), evictAt(usage.CPU, hour, 66.6666), rejectAt(usage.CPU, usage.Last, 50),
		evictAt(usage.Memory, usage.Avg5m, 120),
		evictAt(MemoryAvailable, usage.Last, 10).reversed(), evictAt(swap, usage.Avg5m, 5).reversed(), evictAt(usage.IOPressure, usage.Avg5m, 99))
	var got []string
	for _, e := range r.Evidence(0) {
		got = append(got, e.String())
	}
	want := []string{
		"cpu 97.1% (avg_5m) is above the 65% evict line",
		"cpu 80.0% (max_avg_1h) is above the 66.7% evict line",
		"memory.available 8.3% (last) is below the 10% evict line",
		"swap.free 4.2 (avg_5m) is below the 5 evict line",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}

// Usage that has to leave because of CPU is distinguished from usage that has
// to leave because of another metric.
func TestNeedOther(t *testing.T) {
	cpu, memory := evictAt(usage.CPU, usage.Avg5m, 65), evictAt(usage.Memory, usage.Avg5m, 80)
	pressure := evictAt(usage.IOPressure, usage.Avg5m, 40)
	busy := steady(9000, 81)
	busy.io = 50
	for name, tc := range map[string]struct {
		rules []Rule
		left  cluster.Amounts
		want  cluster.Amounts
	}{
		"CPU alone":                         {rules: []Rule{cpu}},
		"memory beside it":                  {rules: []Rule{cpu, memory}, want: cluster.Amounts{0, gib}},
		"memory has left as well":           {rules: []Rule{cpu, memory}, left: cluster.Amounts{0, gib}},
		"a signal that CPU relieves":        {rules: []Rule{cpu, pressure.relieves(cluster.CPU)}, want: cluster.Amounts{1800}}, // a fifth
		"a part of that has left":           {rules: []Rule{cpu, pressure.relieves(cluster.CPU)}, left: cluster.Amounts{800}, want: cluster.Amounts{1000}},
		"a signal that nothing relieves":    {rules: []Rule{cpu, pressure.relieves(Nothing)}},
		"a signal that CPU relieves, alone": {rules: []Rule{pressure.relieves(cluster.CPU)}, want: cluster.Amounts{1800}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := resolve(t, busy, tc.rules...).NeedOther(0, usage.CPU, tc.left); got != tc.want {
				t.Errorf("%v have to leave for anything but CPU, want %v", got, tc.want)
			}
		})
	}
}

// Nodes that are over only by CPU are distinguished from nodes that are also over by another
// metric.
func TestOverOnly(t *testing.T) {
	rules := []Rule{evictAt(usage.CPU, usage.Avg5m, 65), evictAt(usage.Memory, usage.Avg5m, 80)}
	for name, tc := range map[string]struct {
		node node
		want bool
		// other reports whether the node is over by another metric, whether or not by CPU as well.
		other bool
	}{
		"by nothing":  {steady(6500, 0), false, false},
		"by CPU":      {steady(6501, 0), true, false},
		"by memory":   {steady(6500, 81), false, true},
		"by both":     {steady(6501, 81), false, true},
		"by a signal": {signals(90, math.NaN()), false, true},
	} {
		t.Run(name, func(t *testing.T) {
			lines := resolve(t, tc.node, append(rules, evictAt(usage.IOPressure, usage.Avg5m, 40))...)
			if got := lines.OverOnly(0, usage.CPU); got != tc.want {
				t.Errorf("over by CPU only: %v, want %v", got, tc.want)
			}
			if got := lines.OverOther(0, usage.CPU); got != tc.other {
				t.Errorf("over by another: %v, want %v", got, tc.other)
			}
		})
	}
}
