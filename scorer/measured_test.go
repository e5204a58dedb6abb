package scorer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

var (
	max1h = usage.Window{Kind: usage.KindMaxAvg, Over: time.Hour}
	max1d = usage.Window{Kind: usage.KindMaxAvg, Over: 24 * time.Hour}
	nan   = math.NaN()
)

// told is a node's usage as reported by sources, in percent: CPU and memory, each over five
// minutes, an hour and a day.
type told [cluster.NumResources][3]float64

// untold is a node without reported usage.
var untold = told{{nan, nan, nan}, {nan, nan, nan}}

// measuredView returns a view with one node per entry, each with 10 cores and 100 GiB, of which 90
// % are allocatable. Reported usage is in percent of capacity.
func measuredView(nodes ...told) *usage.View {
	infos, reads := make([]cluster.Node, len(nodes)), make([]usage.NodeUsage, len(nodes))
	for i, n := range nodes {
		infos[i] = cluster.Node{
			Name: fmt.Sprintf("n%d", i), Allocatable: cluster.Amounts{9_000, 90 * gib}, Capacity: cluster.Amounts{10_000, 100 * gib},
		}
		reads[i] = predicted(cluster.Amounts{1_000, 10 * gib})
		reads[i].Reported = []usage.Reported{{nan, nan}}
		for w := range 3 {
			reads[i].Reported = append(reads[i].Reported, usage.Reported{n[0][w] / 100 * 10_000, n[1][w] / 100 * 100 * gib})
		}
	}
	view := viewOf(infos, reads)
	view.Windows = append(view.Windows, max1h, max1d)
	return view
}

func measuring(measured Measured) lined {
	by := testConfig()
	by.Measured = &measured
	return by
}

// craneConfig returns the scoring of the policy that Crane ships.
func craneConfig() Measured {
	m := Measured{Formula: FormulaCrane}
	for _, r := range cluster.Resources() {
		m.Terms = append(m.Terms, Term{r, usage.Avg5m, 0.2}, Term{r, max1h, 0.3}, Term{r, max1d, 0.5})
		m.Limits = append(m.Limits, Limit{Resource: r, Window: usage.Avg5m, Percent: 65}, Limit{Resource: r, Window: max1h, Percent: 75})
	}
	return m
}

func memoryConfig() Measured {
	return Measured{
		Formula: FormulaMemoryLoad,
		Terms:   []Term{{cluster.Memory, usage.Avg5m, 1}},
		Limits:  []Limit{{Resource: cluster.Memory, Window: usage.Avg5m, Percent: 80, From: true}},
	}
}

func minMaxConfig() Measured {
	return Measured{Formula: FormulaMinMax, Terms: []Term{{cluster.CPU, usage.Avg5m, 1}}}
}

// scoresOf returns the scores of all nodes from 0 to 100, and those on the wire.
func scoresOf(b *Board) (hundred, wire []int8) {
	nodes := indices(b.Len())
	hundred, wire = make([]int8, len(nodes)), make([]int8, len(nodes))
	b.Score100(nodes, pod, hundred)
	b.Score(nodes, pod, wire)
	return hundred, wire
}

// Crane's formula has the weights 0.2, 0.3 and 0.5 for each resource, which add up to two:
//
//	score = int( sum of (1-u)*w*100 / 2 )
func TestCraneScores(t *testing.T) {
	cases := map[string]struct {
		nodes         []told
		hundred, wire []int8
	}{
		"six terms": {
			// CPU 20 %, 40 %, 60 %: 80*0.2 + 60*0.3 + 40*0.5 = 54; memory 30 %, 50 %, 70 %: 70*0.2
			// + 50*0.3 + 30*0.5 = 44; (54 + 44) / 2 = 49
			nodes:   []told{{{20, 40, 60}, {30, 50, 70}}},
			hundred: []int8{49}, wire: []int8{4},
		},
		"idle and full": {
			nodes:   []told{{}, {{100, 100, 100}, {100, 100, 100}}},
			hundred: []int8{100, 0}, wire: []int8{10, 0},
		},
		"fractions of a point are cut off": {
			// CPU 10.5 %: 89.5*0.2 = 17.9, plus 30 and 50; memory 100: (97.9 + 100) / 2 = 98.95
			nodes:   []told{{{10.5, 0, 0}, {0, 0, 0}}},
			hundred: []int8{98}, wire: []int8{9},
		},
		"more than all is no less than nothing": {
			nodes:   []told{{{150, 150, 150}, {150, 150, 150}}},
			hundred: []int8{0}, wire: []int8{0},
		},
		"a window that is not known adds nothing and keeps its weight": {
			// without both day windows: CPU 80*0.2 + 60*0.3 = 34, memory 70*0.2
			// + 50*0.3 = 29; 63 / 2 = 31.5
			nodes:   []told{{{20, 40, nan}, {30, 50, nan}}, untold},
			hundred: []int8{31, 0}, wire: []int8{3, 0},
		},
		"absolute, whatever the other nodes are": {
			// 90 % everywhere: 10; 88 %: 12
			nodes:   []told{{{90, 90, 90}, {90, 90, 90}}, {{88, 88, 88}, {88, 88, 88}}},
			hundred: []int8{10, 12}, wire: []int8{1, 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			hundred, wire := scoresOf(measuring(craneConfig()).board(t, measuredView(tc.nodes...)))
			if diff := cmp.Diff(tc.hundred, hundred); diff != "" {
				t.Errorf("0 to 100 (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wire, wire); diff != "" {
				t.Errorf("on the wire (-want +got):\n%s", diff)
			}
		})
	}
}

// Without priorities, Crane prefers no node.
func TestCraneWithoutTerms(t *testing.T) {
	hundred, _ := scoresOf(measuring(Measured{Formula: FormulaCrane}).board(t, measuredView(told{}, untold)))
	if diff := cmp.Diff([]int8{0, 0}, hundred); diff != "" {
		t.Errorf("0 to 100 (-want +got):\n%s", diff)
	}
}

// Each point of the hot value subtracts ten points of a hundred, down to zero.
func TestCraneHotValue(t *testing.T) {
	by := measuring(craneConfig())
	by.HotValue = []HotTerm{{Within: 5 * time.Minute, Count: 5}, {Within: time.Minute, Count: 2}}
	view := measuredView(told{}, told{{80, 80, 80}, {80, 80, 80}}, untold)
	view.At = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	b := by.board(t, view)
	for range 5 { // five in five minutes are one point, five in one minute two
		b.Bound("n0", view.At)
		b.Bound("n1", view.At)
		b.Bound("n2", view.At)
	}
	hundred, wire := scoresOf(b)
	// 100 - 30; 20 - 30; 0 - 30
	if diff := cmp.Diff([]int8{70, 0, 0}, hundred); diff != "" {
		t.Errorf("0 to 100 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int8{7, 0, 0}, wire); diff != "" {
		t.Errorf("on the wire (-want +got):\n%s", diff)
	}
}

func TestMemoryLoadScores(t *testing.T) {
	memory := func(percent float64) told { return told{{0, 0, 0}, {percent, 0, 0}} }
	// 100-0 = 100; 100-9 = 91; 100-10 = 90; 70.5 is truncated to 70: 30; 79.9 to 79: 21; 80: 20;
	// 100 and above: 0; unknown: 10
	b := measuring(memoryConfig()).board(t, measuredView(
		memory(0), memory(9), memory(10), memory(70.5), memory(79.9), memory(80), memory(100), memory(120), untold))
	hundred, wire := scoresOf(b)
	if diff := cmp.Diff([]int8{100, 90, 90, 30, 20, 20, 0, 0, 10}, hundred); diff != "" {
		t.Errorf("0 to 100 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int8{10, 9, 9, 3, 2, 2, 0, 0, 1}, wire); diff != "" {
		t.Errorf("on the wire (-want +got):\n%s", diff)
	}
}

func TestMinMaxScores(t *testing.T) {
	cpu := func(percent float64) told { return told{{percent, 0, 0}, {0, 0, 0}} }
	cases := map[string]struct {
		nodes         []told
		hundred, wire []int8
	}{
		"spread over the request": {
			// 20, 35, 50: 100 - 0; 100 - 15*100/30; 100 - 30*100/30
			nodes:   []told{cpu(20), cpu(35), cpu(50)},
			hundred: []int8{100, 50, 0}, wire: []int8{10, 5, 0},
		},
		"whole numbers": {
			// 20.9 counts as 20, 21.2 as 21: 100 - 1*100/3 = 67
			nodes:   []told{cpu(20.9), cpu(21.2), cpu(23)},
			hundred: []int8{100, 67, 0}, wire: []int8{10, 6, 0},
		},
		"all alike score nothing": {
			nodes:   []told{cpu(20.1), cpu(20.9)},
			hundred: []int8{0, 0}, wire: []int8{0, 0},
		},
		"unknown nodes get the lower median of the others": {
			nodes:   []told{cpu(20), untold, cpu(35), cpu(50), untold},
			hundred: []int8{100, 50, 50, 0, 50}, wire: []int8{10, 5, 5, 0, 5},
		},
		"nothing is known": {
			nodes:   []told{untold, untold},
			hundred: []int8{50, 50}, wire: []int8{5, 5},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			hundred, wire := scoresOf(measuring(minMaxConfig()).board(t, measuredView(tc.nodes...)))
			if diff := cmp.Diff(tc.hundred, hundred); diff != "" {
				t.Errorf("0 to 100 (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wire, wire); diff != "" {
				t.Errorf("on the wire (-want +got):\n%s", diff)
			}
		})
	}
}

// A limit applies to a single window, either above a value or from it on. Unknown usage keeps no
// pods off.
func TestMeasuredLimits(t *testing.T) {
	cases := map[string]struct {
		by   Measured
		node told
		want bool
	}{
		"under all":                   {craneConfig(), told{{64, 74, 99}, {64, 74, 99}}, true},
		"at a limit is not above it":  {craneConfig(), told{{65, 75, 0}, {65, 75, 0}}, true},
		"above the first":             {craneConfig(), told{{65.01, 0, 0}, {0, 0, 0}}, false},
		"above the last":              {craneConfig(), told{{0, 0, 0}, {0, 75.01, 0}}, false},
		"the day has no limit":        {craneConfig(), told{{0, 0, 100}, {0, 0, 100}}, true},
		"nothing is known":            {craneConfig(), untold, true},
		"one is not known, one above": {craneConfig(), told{{nan, 75.01, nan}, {nan, nan, nan}}, false},
		"from a limit on":             {memoryConfig(), told{{0, 0, 0}, {80, 0, 0}}, false},
		"just below it":               {memoryConfig(), told{{0, 0, 0}, {79.99, 0, 0}}, true},
		"of another resource":         {memoryConfig(), told{{99, 99, 99}, {0, 0, 0}}, true},
		"no limits":                   {minMaxConfig(), told{{99, 99, 99}, {99, 99, 99}}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := measuring(tc.by).board(t, measuredView(tc.node))
			if got := b.Accepts(0, pod); got != tc.want {
				t.Errorf("accepted: %v, want %v", got, tc.want)
			}
			if got := len(b.AppendRefused(nil, pod)) == 0; got != tc.want {
				t.Errorf("accepted when all are asked about: %v, want %v", got, tc.want)
			}
			if got := len(slices.Collect(b.Refused(indices(1), pod))) == 0; got != tc.want {
				t.Errorf("accepted when a list is asked about: %v, want %v", got, tc.want)
			}
			// Predicted usage is far below the reject lines here.
			if got := b.Lands(0, pod); got != tc.want {
				t.Errorf("may be landed on: %v, want %v", got, tc.want)
			}
			if got := b.Best(indices(1), pod, func(cluster.NodeIndex) bool { return false }) == 0; got != tc.want {
				t.Errorf("is a destination: %v, want %v", got, tc.want)
			}
			if !b.Accepts(-1, pod) || !b.Accepts(7, pod) {
				t.Error("a node that the board does not know is refused")
			}
		})
	}
}

// A percentage that was converted to cores or bytes of any node is still exactly the same.
func TestLimitsAreMetExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(55, 56))
	for range 2000 {
		percent := float64(1 + rng.IntN(100))
		view := measuredView(told{})
		capacity := 1 + rng.Int64N(4096*gib)
		view.Snapshot.Nodes[0].Node.Capacity[cluster.Memory] = capacity
		view.Nodes[0].Reported[usage.AtAvg5m][cluster.Memory] = percent / 100 * float64(capacity)
		limit := Limit{Resource: cluster.Memory, Window: usage.Avg5m, Percent: percent}
		from := limit
		from.From = true
		above, met := measuring(Measured{Limits: []Limit{limit}}).board(t, view), measuring(Measured{Limits: []Limit{from}}).board(t, view)
		if !above.Accepts(0, pod) || met.Accepts(0, pod) {
			t.Fatalf("%v %% of %d: above itself %v, from itself on %v", percent, capacity, !above.Accepts(0, pod), !met.Accepts(0, pod))
		}
	}
}

// Scheduling uses only measured windows, but a planned destination must also respect the lines.
func TestLandingsKeepToLinesAsWell(t *testing.T) {
	b := measuring(craneConfig()).board(t, measuredView(told{}))
	large := cluster.Amounts{8_000, 0}
	if !b.Accepts(0, large) {
		t.Error("a node within its limits rejects a pod because of its prediction")
	}
	if b.Lands(0, large) {
		t.Error("a move may push a node over its reject line")
	}
	if plain := testConfig().board(t, measuredView(told{{99, 99, 99}, {99, 99, 99}})); !plain.Lands(0, pod) || plain.Measured() {
		t.Error("without measured windows they decide something")
	}
}

// Every score on the wire is the score from 0 to 100 in steps of ten, rounded to the nearest for
// predicted usage and down for measured usage. Both therefore rank nodes in the same order, but
// with different precision.
func TestBothScoresRankAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	crane, memory, minMax := craneConfig(), memoryConfig(), minMaxConfig()
	for name, measured := range map[string]*Measured{"predicted": nil, "Crane": &crane, "MemoryLoad": &memory, "MinMax": &minMax} {
		t.Run(name, func(t *testing.T) {
			half := int8(0)
			if measured == nil {
				half = 5
			}
			for range 300 {
				hundred, wire := scoresOf(randomBoard(t, rng, measured))
				for i := range hundred {
					if hundred[i] < 0 || hundred[i] > 100 {
						t.Fatalf("score %d of 0 to 100", hundred[i])
					}
					if want := (hundred[i] + half) / 10; wire[i] != want {
						t.Fatalf("%d on the wire for %d, want %d", wire[i], hundred[i], want)
					}
				}
			}
		})
	}
}

// randomBoard returns a board with all kinds of nodes, some of them with recently bound pods.
func randomBoard(t *testing.T, rng *rand.Rand, measured *Measured) *Board {
	t.Helper()
	nodes := make([]told, rng.IntN(12))
	for i := range nodes {
		for r := range nodes[i] {
			for w := range nodes[i][r] {
				nodes[i][r][w] = []float64{100 * rng.Float64(), 120, 0, nan}[rng.IntN(4)]
			}
		}
	}
	view := measuredView(nodes...)
	for i := range view.Nodes {
		view.Nodes[i].Predicted = predicted(cluster.Amounts{rng.Int64N(9_000), rng.Int64N(90) * gib}).Predicted
		if rng.IntN(5) == 0 {
			view.Nodes[i].Unknown = reasons.UsageStale
		}
	}
	by := testConfig()
	by.Measured = measured
	by.HotValue = []HotTerm{{Within: time.Minute, Count: 2}}
	b := by.board(t, view)
	for range rng.IntN(20) {
		b.Bound(fmt.Sprintf("n%d", rng.IntN(12)), view.At)
	}
	return b
}

// However a source and this package convert an annotation's number, the score is exactly the result
// of the formula for the original number. The test computes it in integers: usage in
// hundred-thousandths, as in annotations, and weights in tenths.
func TestCraneScoresToTheLastDigit(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 54))
	measured := craneConfig()
	by := measuring(measured)
	for range 3000 {
		capacity := cluster.Amounts{1 + rng.Int64N(256_000), 1 + rng.Int64N(4096*gib)}
		reading := predicted(cluster.Amounts{})
		reading.Reported = make([]usage.Reported, 4)
		free := int64(0)
		even := rng.IntN(2) == 0 // whole percentages result in whole scores
		for _, term := range measured.Terms {
			used := rng.Int64N(100_001)
			if even {
				used = 1000 * rng.Int64N(101)
			}
			free += (100_000 - used) * int64(math.Round(term.Weight*10))
			at := map[usage.Window]int{usage.Avg5m: 1, max1h: 2, max1d: 3}[term.Window]
			fraction := float64(used) / 100_000
			reading.Reported[at][term.Resource] = 100 * fraction / 100 * float64(capacity[term.Resource]) // as the source does
		}
		view := viewOf([]cluster.Node{{Name: "n", Allocatable: capacity, Capacity: capacity}}, []usage.NodeUsage{reading})
		view.Windows = append(view.Windows, max1h, max1d)
		hundred, _ := scoresOf(by.board(t, view))
		if want := free * 100 / (100_000 * 20); int64(hundred[0]) != want {
			t.Fatalf("score %d, want %d of %v", hundred[0], want, reading.Reported)
		}
	}
}

// Unmeasured nodes that state no size cause no failure.
func TestMeasuredOfNothing(t *testing.T) {
	view := measuredView(told{{50, 50, 50}, {50, 50, 50}}, told{})
	view.Snapshot.Nodes[0].Node.Capacity = cluster.Amounts{}
	view.Nodes[1].Reported = nil
	elsewhere := craneConfig()
	for i := range elsewhere.Terms {
		elsewhere.Terms[i].Window.Over++
	}
	for name, measured := range map[string]Measured{
		"as shipped": craneConfig(), "windows that the view lacks": elsewhere, "of no term": {Formula: FormulaMemoryLoad},
		"weights of nothing": {Formula: FormulaCrane, Terms: []Term{{cluster.CPU, usage.Avg5m, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := measuring(measured).board(t, view)
			hundred, _ := scoresOf(b)
			if hundred[0] != hundred[1] || !b.Accepts(0, pod) || !b.Accepts(1, pod) {
				t.Errorf("scores %v of two nodes of which nothing is known", hundred)
			}
			b.Score(nil, pod, nil)
		})
	}
}

// BenchmarkMeasured builds a board of 5,000 nodes and scores them for a request.
func BenchmarkMeasured(b *testing.B) {
	const count = 5000
	nodes := make([]told, count)
	for i := range nodes {
		nodes[i] = told{{float64(i % 90), 50, 40}, {float64(i % 80), 20, 10}}
	}
	view, request, scores := measuredView(nodes...), indices(count), make([]int8, count)
	for name, measured := range map[string]Measured{"Crane": craneConfig(), "MinMax": minMaxConfig()} {
		by := measuring(measured)
		set := by.set(b)
		b.Run(name+"/board", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewBoard(view, set.Resolve(view), by.Config)
			}
		})
		board := by.board(b, view)
		b.Run(name+"/score", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				board.Score(request, pod, scores)
			}
		})
	}
}
