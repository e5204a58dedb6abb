package scorer

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// A node accepts a pod as long as it stays at or under the reject line with the pod. An unknown
// node accepts every pod.
func TestAccepts(t *testing.T) {
	cases := map[string]struct {
		node   at
		adjust cluster.Amounts
		want   bool
	}{
		"empty":                           {node: at{0, 0}, want: true},
		"at the CPU line with the pod":    {node: at{55, 0}, want: true},  // 55 + 5 = 60
		"above the CPU line with the pod": {node: at{56, 0}, want: false}, // 61
		"at the memory line with the pod": {node: at{0, 73}, want: true},  // 73 + 2 = 75
		"above the memory line":           {node: at{0, 74}, want: false},
		"a milli-core above the line":     {node: at{55, 0}, adjust: cluster.Amounts{1, 0}, want: false},
		"a pod left meanwhile":            {node: at{90, 0}, adjust: cluster.Amounts{-4000, 0}, want: true},
		"a move is reserved":              {node: at{50, 0}, adjust: cluster.Amounts{1000, 0}, want: false},
		"unknown":                         {node: unknown, want: true},
		"unknown, whatever was added":     {node: unknown, adjust: cluster.Amounts{1 << 40, 0}, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := boardOf(t, testConfig(), tc.node)
			b.Adjust("a", cluster.Charge{Usage: tc.adjust})
			if got := b.Accepts(0, pod); got != tc.want {
				t.Errorf("accepts: %v, want %v", got, tc.want)
			}
		})
	}
}

// The scores are those of a request's nodes with a pod of 5 % CPU and 2 % memory on them:
//
//	load  = (max + mean of both) / 2
//	score = 5 + (10·(hottest−load)/(hottest−coolest) − 5) · min(1, (hottest−coolest)/5)
func TestScore(t *testing.T) {
	cases := map[string]struct {
		nodes []at
		want  []int8
	}{
		"the coolest gets all, the hottest nothing": {
			// with the pod 10/10, 30/30, 50/50: loads 10, 30, 50
			nodes: []at{{5, 8}, {25, 28}, {45, 48}},
			want:  []int8{10, 5, 0},
		},
		"the dominant resource counts more than the mean": {
			// with the pod 50/10, 30/30, 10/10: loads (50+30)/2 = 40, 30, 10;
			// 10·(40−30)/30 = 3.3
			nodes: []at{{45, 8}, {25, 28}, {5, 8}},
			want:  []int8{0, 3, 10},
		},
		"hardly a difference shrinks to the middle": {
			// loads 10, 11, 12: width 2, strength 0.4; 5 + 5·0.4 = 7, 5, 3
			nodes: []at{{5, 8}, {6, 9}, {7, 10}},
			want:  []int8{7, 5, 3},
		},
		"no difference is the middle": {
			nodes: []at{{20, 20}, {20, 20}},
			want:  []int8{5, 5},
		},
		"one node": {
			nodes: []at{{20, 20}},
			want:  []int8{5},
		},
		"above the reject line there is nothing": {
			// The first node is rejected, because 56+5 is above 60. The others have loads of 10 and
			// 50.
			nodes: []at{{56, 8}, {5, 8}, {45, 48}},
			want:  []int8{0, 10, 0},
		},
		"one under the line next to hot ones": {
			nodes: []at{{80, 8}, {5, 8}, {90, 8}},
			want:  []int8{0, 5, 0},
		},
		"all above the line: the least hot is the best": {
			// with the pod 70/70, 80/80, 95/95: loads 70, 80, 95; 10·(95−80)/25
			// = 6
			nodes: []at{{65, 68}, {75, 78}, {90, 93}},
			want:  []int8{10, 6, 0},
		},
		"unknown nodes get the median of the known": {
			nodes: []at{{5, 8}, unknown, {25, 28}, {45, 48}, unknown},
			want:  []int8{10, 5, 5, 0, 5},
		},
		"unknown nodes next to an even number get the lower median": {
			nodes: []at{{5, 8}, {45, 48}, unknown},
			want:  []int8{10, 0, 0},
		},
		"nothing is known": {
			nodes: []at{unknown, unknown},
			want:  []int8{5, 5},
		},
		"unknown nodes while all known are above the line": {
			nodes: []at{{65, 68}, unknown, {90, 93}},
			want:  []int8{10, 0, 0},
		},
		"no nodes": {want: []int8{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := boardOf(t, testConfig(), tc.nodes...)
			got := make([]int8, len(tc.nodes))
			b.Score(indices(len(tc.nodes)), pod, got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
		})
	}
}

// Weights set how much each resource counts in the mean. Without weights, all count equally.
func TestScoreWeights(t *testing.T) {
	nodes := []at{{40, 0}, {0, 40}, {0, 0}}
	cases := map[string]struct {
		weights cluster.Percents
		want    []int8
	}{
		// the pods use nothing. CPU alone: loads (40+40)/2, (40+0)/2, 0
		"CPU alone": {cluster.Percents{1, 0}, []int8{0, 5, 10}},
		// 3:1: loads (40+30)/2 = 35, (40+10)/2 = 25, 0; 10·(35−25)/35 = 2.9
		"CPU thrice":     {cluster.Percents{3, 1}, []int8{0, 3, 10}},
		"none is equal":  {cluster.Percents{}, []int8{0, 0, 10}},
		"scale is equal": {cluster.Percents{50, 50}, []int8{0, 0, 10}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			config := testConfig()
			config.Weights = tc.weights
			got := make([]int8, len(nodes))
			boardOf(t, config, nodes...).Score(indices(3), cluster.Amounts{}, got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
		})
	}
}

// A pod weighs more on a small node: 2 cores are 50 % of four cores but 6 % of 32.
func TestUnequalNodes(t *testing.T) {
	b := testConfig().board(t, viewOf(
		[]cluster.Node{
			{Name: "large", Allocatable: cluster.Amounts{32_000, 256 * gib}},
			{Name: "small", Allocatable: cluster.Amounts{4_000, 16 * gib}},
		},
		// 40 % and 20 %
		[]usage.NodeUsage{predicted(cluster.Amounts{12_800, 0}), predicted(cluster.Amounts{800, 0})},
	))
	twoCores := cluster.Amounts{2_000, 0}
	if !b.Accepts(0, twoCores) || b.Accepts(1, twoCores) {
		t.Error("want the large node to accept two cores (46 %) and the small one to refuse them (70 %)")
	}
	none := func(cluster.NodeIndex) bool { return false }
	if got := b.Best(indices(2), twoCores, none); got != 0 {
		t.Errorf("best for two cores is node %d, want the large one", got)
	}
	if got := b.Best(indices(2), cluster.Amounts{100, 0}, none); got != 1 {
		t.Errorf("best for a tenth of a core is node %d, want the small one", got)
	}
}

func TestBest(t *testing.T) {
	cases := map[string]struct {
		nodes    []at
		request  []cluster.NodeIndex
		excluded cluster.NodeIndex
		want     cluster.NodeIndex
	}{
		"the coolest":                      {nodes: []at{{30, 0}, {10, 0}, {20, 0}}, request: indices(3), excluded: -9, want: 1},
		"the coolest except the source":    {nodes: []at{{30, 0}, {10, 0}, {20, 0}}, request: indices(3), excluded: 1, want: 2},
		"ties go by index":                 {nodes: []at{{10, 0}, {10, 0}}, request: []cluster.NodeIndex{1, 0}, excluded: -9, want: 0},
		"unknown is no destination":        {nodes: []at{unknown, {30, 0}}, request: indices(2), excluded: -9, want: 1},
		"none under the line":              {nodes: []at{{56, 0}, {0, 74}}, request: indices(2), excluded: -9, want: -1},
		"only nodes of the request":        {nodes: []at{{0, 0}, {30, 0}}, request: []cluster.NodeIndex{1}, excluded: -9, want: 1},
		"names the board does not know":    {nodes: []at{{30, 0}}, request: []cluster.NodeIndex{-1, 0, -1}, excluded: -9, want: 0},
		"only unknown names":               {nodes: []at{{30, 0}}, request: []cluster.NodeIndex{-1}, excluded: -9, want: -1},
		"a request without nodes":          {nodes: []at{{30, 0}}, excluded: -9, want: -1},
		"an index the board does not have": {nodes: []at{{30, 0}}, request: []cluster.NodeIndex{7}, excluded: -9, want: -1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := boardOf(t, testConfig(), tc.nodes...)
			if got := b.Best(tc.request, pod, func(i cluster.NodeIndex) bool { return i == tc.excluded }); got != tc.want {
				t.Errorf("best %d, want %d", got, tc.want)
			}
		})
	}
}

// A board finds nodes by the names in its view.
func TestBoardNames(t *testing.T) {
	b := boardOf(t, testConfig(), at{0, 0}, at{0, 0})
	if b.Len() != 2 || b.Node([]byte("b")) != 1 || b.Node([]byte("zz")) != -1 || b.Name(1) != "b" {
		t.Error("names and indices disagree")
	}
	if !b.SameNodes(boardOf(t, testConfig(), unknown, at{9, 9})) || b.SameNodes(boardOf(t, testConfig(), at{0, 0})) {
		t.Error("SameNodes compares more or less than names")
	}
	b.Adjust("zz", cluster.Charge{Usage: cluster.Amounts{1, 1}})
	b.Adjust("b", cluster.Charge{Usage: cluster.Amounts{100, 1}})
	b.Adjust("b", cluster.Charge{Usage: cluster.Amounts{-40, 1}})
	if got := b.Adjusted(1); got != (cluster.Amounts{60, 2}) {
		t.Errorf("adjusted by %v, want 60 and 2", got)
	}
	if b.Adjusted(0) != (cluster.Amounts{}) || b.Adjusted(-1) != (cluster.Amounts{}) || b.Adjusted(9) != (cluster.Amounts{}) {
		t.Error("an adjustment out of nothing")
	}
}

// A clone equals its board until either of them is adjusted, which does not affect the
// other.
func TestClone(t *testing.T) {
	b := boardOf(t, testConfig(), at{40, 10}, at{50, 0}, unknown)
	b.Adjust("a", cluster.Charge{Usage: cluster.Amounts{500, 1}, Requests: cluster.Amounts{100, 1}})
	c := b.Clone()
	same := func() bool {
		equal := c.SameNodes(b)
		for i := range cluster.NodeIndex(3) {
			with, known := b.With(i, pod)
			cloned, alsoKnown := c.With(i, pod)
			equal = equal && with == cloned && known == alsoKnown && c.Ceiling(i) == b.Ceiling(i) && c.Adjusted(i) == b.Adjusted(i) &&
				c.Lands(i, pod) == b.Lands(i, pod)
		}
		var scores, cloned [3]int8
		b.Score(indices(3), pod, scores[:])
		c.Score(indices(3), pod, cloned[:])
		return equal && scores == cloned
	}
	if !same() {
		t.Error("the clone differs")
	}
	b.Adjust("b", cluster.Charge{Usage: cluster.Amounts{2000, 0}})
	if !b.Lands(0, pod) || b.Lands(1, pod) || !c.Lands(1, pod) || same() {
		t.Error("the clone follows its board")
	}
}

// A node accepts as much as its lines leave: the lines of its pool, of available memory and of
// longer windows. While a signal is beyond its reject line, the node accepts nothing.
func TestCeiling(t *testing.T) {
	hour := usage.Window{Kind: usage.KindMaxAvg, Over: time.Hour}
	reject := func(metric usage.Metric, window usage.Window, at float64) thresholds.Rule {
		levels := thresholds.NoLevels()
		levels.Reject = at
		return thresholds.Rule{Metric: metric, Window: window, Levels: levels}
	}
	available := reject(thresholds.MemoryAvailable, usage.Avg5m, 20)
	available.LowerIsWorse, available.Levels.Low, available.Levels.Evict, available.Levels.Leave = true, math.Inf(-1), math.Inf(-1), math.Inf(-1)
	pressure := reject(usage.CPUPressure, usage.Avg5m, 30)
	cases := map[string]struct {
		rules    []thresholds.Rule
		pressure float64
		want     cluster.Amounts
	}{
		"no lines":                    {want: cluster.Amounts{math.MaxInt64, math.MaxInt64}},
		"a line of CPU":               {rules: []thresholds.Rule{reject(usage.CPU, usage.Avg5m, 60)}, want: cluster.Amounts{6000, math.MaxInt64}},
		"the lower of two windows":    {rules: []thresholds.Rule{reject(usage.CPU, usage.Avg5m, 60), reject(usage.CPU, usage.Last, 50)}, want: cluster.Amounts{5000, math.MaxInt64}},
		"20 % of 120 GiB available":   {rules: []thresholds.Rule{available}, want: cluster.Amounts{math.MaxInt64, 96 * gib}},
		"the last hour saw 10 % more": {rules: []thresholds.Rule{reject(usage.CPU, hour, 60)}, want: cluster.Amounts{5000, math.MaxInt64}},
		"a pressure at its line":      {rules: []thresholds.Rule{reject(usage.CPU, usage.Avg5m, 60), pressure}, pressure: 30, want: cluster.Amounts{6000, math.MaxInt64}},
		"a pressure beyond its line":  {rules: []thresholds.Rule{reject(usage.CPU, usage.Avg5m, 60), pressure}, pressure: 30.1},
		"an unmeasured pressure":      {rules: []thresholds.Rule{reject(usage.CPU, usage.Avg5m, 60), pressure}, pressure: math.NaN(), want: cluster.Amounts{6000, math.MaxInt64}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			// 20 % in last, 30 % over five minutes, and 40 % in the highest mean of the last hour
			used := []cluster.Amounts{{2000, 10 * gib}, {3000, 10 * gib}, {4000, 10 * gib}}
			view := viewOf(
				[]cluster.Node{{Name: "a", Allocatable: cluster.Amounts{10_000, 100 * gib}, Capacity: cluster.Amounts{10_000, 120 * gib}}},
				[]usage.NodeUsage{{Current: used, Predicted: used, Signals: [][]float64{{tc.pressure, tc.pressure, tc.pressure}}}},
			)
			view.Windows, view.Signals = append(view.Windows, hour), []usage.Metric{usage.CPUPressure}
			set, err := thresholds.New([]thresholds.Pool{{Name: "default", Rules: tc.rules}}, 3)
			if err != nil {
				t.Fatal(err)
			}
			b := NewBoard(view, set.Resolve(view), testConfig().Config)
			if got := b.Ceiling(0); got != tc.want {
				t.Errorf("ceiling %v, want %v", got, tc.want)
			}
			// The higher of last and five minutes is already in use. A pod as large as the rest
			// fits, a larger one does not.
			rest := tc.want.Minus(cluster.Amounts{3000, 10 * gib})
			if got, want := b.Accepts(0, rest.AtLeastZero()), rest[cluster.CPU] >= 0; got != want {
				t.Errorf("a pod of %v: accepted %v, want %v", rest, got, want)
			}
			if rest[cluster.CPU] < math.MaxInt32 && b.Accepts(0, rest.AtLeastZero().Plus(cluster.Amounts{1, 0})) {
				t.Errorf("a pod of more than %v is accepted", rest)
			}
			if b.Ceiling(-1) != (cluster.Amounts{}) || b.Ceiling(1) != (cluster.Amounts{}) {
				t.Error("the ceiling of no node")
			}
		})
	}
}

// Pools of nodes have separate lines.
func TestCeilingByPool(t *testing.T) {
	rules := func(reject float64) []thresholds.Rule {
		levels := thresholds.NoLevels()
		levels.Reject = reject
		return []thresholds.Rule{{Metric: usage.CPU, Window: usage.Avg5m, Levels: levels}}
	}
	set, err := thresholds.New([]thresholds.Pool{
		{Name: "batch", Matches: func(labels map[string]string) bool { return labels["pool"] == "batch" }, Rules: rules(90)},
		{Name: "default", Rules: rules(60)},
	}, 3)
	if err != nil {
		t.Fatal(err)
	}
	size := cluster.Amounts{10_000, 100 * gib}
	at80 := predicted(cluster.Amounts{8000, 0})
	view := viewOf([]cluster.Node{{Name: "a", Allocatable: size, Labels: map[string]string{"pool": "batch"}}, {Name: "b", Allocatable: size}}, []usage.NodeUsage{at80, at80})
	b := NewBoard(view, set.Resolve(view), testConfig().Config)
	if !b.Accepts(0, pod) || b.Accepts(1, pod) {
		t.Error("want the batch node to accept a pod at 80 % and the other to refuse it")
	}
	scores := make([]int8, 2)
	if b.Score(indices(2), pod, scores); scores[0] == 0 || scores[1] != 0 {
		t.Errorf("scores %v, want nothing for the node above its line alone", scores)
	}
}

// A node's prediction is, per resource, the higher of the last sample and the five-minute mean. A
// longer window does not raise it.
func TestPredictedIsCareful(t *testing.T) {
	used := []cluster.Amounts{{100, 5}, {50, 9}, {900, 900}}
	view := viewOf([]cluster.Node{{Name: "a", Allocatable: cluster.Amounts{1000, 1000}}}, []usage.NodeUsage{{Current: used, Predicted: used}})
	view.Windows = append(view.Windows, usage.Window{Kind: usage.KindMaxAvg, Over: time.Hour})
	b := testConfig().board(t, view)
	if got, known := b.Predicted(0); !known || got != (cluster.Amounts{100, 9}) {
		t.Errorf("predicted %v, want 100 and 9", got)
	}
}

// If scores tie, kube-scheduler's own plugins decide, and they prefer the node with the fewest
// requests. Pods that came and went since the observation count.
func TestLikeliest(t *testing.T) {
	requests := cluster.Amounts{500, 2 * gib}
	full := cluster.NewCharge(cluster.Amounts{}, cluster.Amounts{8000, 80 * gib})
	cases := map[string]struct {
		charged map[string]cluster.Charge
		back    []string // the pods that are removed again
		scores  []int8
		want    cluster.NodeIndex
	}{
		"the highest score wins whatever is requested":   {charged: map[string]cluster.Charge{"b": full}, scores: []int8{9, 10, 8, 10}, want: 1},
		"a tie goes to the node with the lower requests": {charged: map[string]cluster.Charge{"a": full, "b": full}, scores: []int8{10, 10, 10, 10}, want: 2},
		"freed capacity counts as free":                  {charged: map[string]cluster.Charge{"a": full, "b": full}, back: []string{"a"}, scores: []int8{10, 10, 9, 10}, want: 0},
		"usage is no request": {
			charged: map[string]cluster.Charge{"a": {Usage: cluster.Amounts{3000, 0}}, "b": cluster.NewCharge(cluster.Amounts{}, cluster.Amounts{})},
			scores:  []int8{10, 10, 9, 10}, want: 0,
		},
		"none is known": {scores: []int8{0, 0, 0, 10}, want: -1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			nodes := []at{{10, 10}, {10, 10}, {10, 10}, unknown}
			if tc.want < 0 {
				nodes = []at{unknown, unknown, unknown, unknown}
			}
			b := boardOf(t, testConfig(), nodes...)
			for name, charge := range tc.charged {
				b.Adjust(name, charge)
			}
			for _, name := range tc.back {
				b.Adjust(name, tc.charged[name].Back())
			}
			if got := b.MostLikely(indices(4), requests, tc.scores); got != tc.want {
				t.Errorf("got node %d, want %d", got, tc.want)
			}
		})
	}
	if got := boardOf(t, testConfig(), at{10, 10}).MostLikely([]cluster.NodeIndex{-1}, requests, []int8{10}); got != -1 {
		t.Errorf("a node that the board does not know is %d, want -1", got)
	}
}

// Of two nodes with the same current usage, the one that will use more at its busiest scores lower,
// but still accepts pods.
func TestNodesScoreByTheirBusiestHour(t *testing.T) {
	// Each node has twelve pods of 100m. Those of the second node used 300m in the last hours, or
	// will at some hour of the day.
	daily := daily(100, 300)
	for name, busy := range map[string]usage.PodUsage{
		"in the last hours":       {Used: cluster.Amounts{100, 0}, Expected: forecast.Constant(300)},
		"at some hour of the day": {Used: cluster.Amounts{100, 0}, Expected: forecast.Constant(100), Pattern: forecast.PodPattern{Pattern: daily}},
	} {
		t.Run(name, func(t *testing.T) {
			steady := usage.PodUsage{Used: cluster.Amounts{100, 0}, Expected: forecast.Constant(100)}
			reads := []usage.NodeUsage{predicted(cluster.Amounts{1200, 0}), predicted(cluster.Amounts{1200, 0})}
			for range 12 {
				reads[0].Pods, reads[1].Pods = append(reads[0].Pods, steady), append(reads[1].Pods, busy)
			}
			infos := []cluster.Node{{Name: "steady", Allocatable: cluster.Amounts{5000, gib}}, {Name: "busy", Allocatable: cluster.Amounts{5000, gib}}}
			config, scores := testConfig(), make([]int8, 2)
			config.board(t, viewOf(infos, reads)).Score(indices(2), cluster.Amounts{100, 0}, scores)
			if diff := cmp.Diff([]int8{10, 0}, scores); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
			config.Unforeseen = true
			config.board(t, viewOf(infos, reads)).Score(indices(2), cluster.Amounts{100, 0}, scores)
			if diff := cmp.Diff([]int8{5, 5}, scores); diff != "" {
				t.Errorf("scores where nothing is expected (-want +got):\n%s", diff)
			}
			// With 30 % more, the node will be full when it is busiest, but it is below its reject
			// line now.
			if !testConfig().board(t, viewOf(infos, reads)).Accepts(1, cluster.Amounts{1500, 0}) {
				t.Error("a node that will be busy accepts no pod now")
			}
		})
	}
}

// daily returns the usage of pods that use busy for two hours of each day and idle for the rest.
func daily(idle, busy int64) *forecast.Pattern {
	var r forecast.Recurrence
	for part := range int64(4 * forecast.Parts) {
		used := idle
		if part%forecast.Parts < 4 {
			used = busy
		}
		r.Add(part, used)
		r.Finish(part+1, 1)
	}
	return r.Pattern()
}
