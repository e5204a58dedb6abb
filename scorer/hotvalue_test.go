package scorer

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// craneTerms are the terms of Crane's shipped policy.
var craneTerms = []HotTerm{{Within: 5 * time.Minute, Count: 5}, {Within: time.Minute, Count: 2}}

// boundBoard returns a board of nodes with equal usage, which all score 5 without hot values. Their
// pods have the given ages at noon. A nil entry is a node without pods whose usage is unknown.
func boundBoard(t testing.TB, terms []HotTerm, ages ...[]time.Duration) *Board {
	t.Helper()
	infos, reads := make([]cluster.Node, len(ages)), make([]usage.NodeUsage, len(ages))
	for i := range ages {
		infos[i] = cluster.Node{Name: name(i), Allocatable: cluster.Amounts{10_000, 100 * gib}}
		if reads[i] = predicted(cluster.Amounts{1000, gib}); ages[i] == nil {
			reads[i].Unknown = reasons.UsageStale
		}
	}
	view := viewOf(infos, reads)
	view.At = noon
	for i, of := range ages {
		for _, age := range of {
			view.Snapshot.Nodes[i].Pods = append(view.Snapshot.Nodes[i].Pods, &cluster.Pod{Created: noon.Add(-age)})
		}
	}
	config := testConfig()
	config.HotValue = terms
	return config.board(t, view)
}

// times repeats an age n times.
func times(n int, age time.Duration) []time.Duration {
	ages := make([]time.Duration, n)
	for i := range ages {
		ages[i] = age
	}
	return ages
}

// HotValue is computed from the ages of a node's pods:
//
//	hot = floor(n within 5m / 5) + floor(n within 1m / 2)
func TestHotValue(t *testing.T) {
	const old, lately, now = 10 * time.Minute, 3 * time.Minute, 10 * time.Second
	cases := map[string]struct {
		terms []HotTerm
		ages  []time.Duration
		want  int
	}{
		"no pods":                     {craneTerms, []time.Duration{}, 0},
		"old pods":                    {craneTerms, times(100, old), 0},
		"four lately":                 {craneTerms, times(4, lately), 0}, // 4/5
		"five lately count already":   {craneTerms, times(5, lately), 1}, // 5/5
		"nine lately":                 {craneTerms, times(9, lately), 1}, // 9/5
		"one just now":                {craneTerms, times(1, now), 0},    // 1/5 + 1/2
		"two just now":                {craneTerms, times(2, now), 1},    // 2/5 + 2/2
		"five just now count twice":   {craneTerms, times(5, now), 3},    // 5/5 + 5/2
		"some lately, some just now":  {craneTerms, append(times(3, lately), times(3, now)...), 2},
		"exactly as long ago is out":  {craneTerms, times(5, 5*time.Minute), 0},
		"from the future":             {craneTerms, times(2, -time.Hour), 1},
		"no terms":                    {nil, times(50, now), 0},
		"a term that divides by zero": {[]HotTerm{{Within: time.Minute}, {Within: time.Minute, Count: 10}}, times(50, now), 5},
		"a term without a time":       {[]HotTerm{{Count: 1}}, times(50, now), 0},
		"a negative term":             {[]HotTerm{{Within: -time.Minute, Count: 1}, {Within: time.Minute, Count: -1}}, times(50, -time.Hour), 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := boundBoard(t, tc.terms, tc.ages)
			if got := b.HotValue(0); got != tc.want {
				t.Errorf("hot value %d, want %d", got, tc.want)
			}
			if b.HotValue(-1) != 0 || b.HotValue(1) != 0 {
				t.Error("a hot value of no node")
			}
		})
	}
}

// Pods bound after the observation count at once, if they count at all.
func TestBound(t *testing.T) {
	b := boundBoard(t, craneTerms, times(3, 3*time.Minute), []time.Duration{})
	steps := []struct {
		node string
		age  time.Duration
		want int // of the first node
	}{
		{"a", 0, 0},                // 4/5 + 1/2
		{"b", 0, 0},                // on another node
		{"zz", 0, 0},               // on an unknown node
		{"a", 10 * time.Minute, 0}, // reported late
		{"a", 0, 2},                // 5/5 + 2/2
		{"a", 2 * time.Minute, 2},  // 6/5 + 2/2
		{"a", -time.Minute, 2},     // 7/5 + 3/2
		{"a", 0, 3},                // 8/5 + 4/2
	}
	for i, step := range steps {
		b.Bound(step.node, noon.Add(-step.age))
		if got := b.HotValue(0); got != step.want {
			t.Errorf("step %d: hot value %d, want %d", i, got, step.want)
		}
	}
	without := boundBoard(t, nil, []time.Duration{})
	if without.Bound("a", noon); without.HotValue(0) != 0 {
		t.Error("a hot value without terms")
	}
}

// Hot values are subtracted from every node's score, including those of unknown nodes, but no score
// falls below 0. The median for unknown nodes is computed from scores by usage alone. Otherwise
// they would be charged for their neighbours' bindings.
func TestScoreWithHotValue(t *testing.T) {
	perPod := []HotTerm{{Within: time.Minute, Count: 1}}
	cases := map[string]struct {
		ages  [][]time.Duration
		bound string // one pod per letter, on the node with that name
		want  []int8
	}{
		"none":                             {ages: [][]time.Duration{{}, {}}, want: []int8{5, 5}},
		"two pods":                         {ages: [][]time.Duration{times(2, 0), {}}, want: []int8{3, 5}},
		"as many as it has points":         {ages: [][]time.Duration{times(5, 0), {}}, want: []int8{0, 5}},
		"more than it has points":          {ages: [][]time.Duration{times(300, 0), {}}, want: []int8{0, 5}},
		"bound meanwhile":                  {ages: [][]time.Duration{times(1, 0), {}}, bound: "aabz", want: []int8{2, 4}},
		"unknown beside hot ones":          {ages: [][]time.Duration{times(4, 0), times(4, 0), nil}, want: []int8{1, 1, 5}},
		"an unknown node pays for its own": {ages: [][]time.Duration{{}, nil}, bound: "bb", want: []int8{5, 3}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := boundBoard(t, perPod, tc.ages...)
			for _, node := range tc.bound {
				b.Bound(string(node), noon)
			}
			got := make([]int8, len(tc.ages))
			b.Score(indices(len(got)), pod, got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("scores (-want +got):\n%s", diff)
			}
		})
	}
}

// A name that the board does not know gets the median, from which nothing is subtracted.
func TestHotValueOfStrangers(t *testing.T) {
	b := boundBoard(t, []HotTerm{{Within: time.Minute, Count: 1}}, times(2, 0))
	scores := make([]int8, 3)
	b.Score([]cluster.NodeIndex{-1, 0, 9}, pod, scores)
	if diff := cmp.Diff([]int8{5, 3, 5}, scores); diff != "" {
		t.Errorf("scores (-want +got):\n%s", diff)
	}
}

// Hot values rank nodes of equal usage, but do not cause a destination to be refused or another one
// to be chosen.
func TestHotValueLeavesLandingsAlone(t *testing.T) {
	b := boundBoard(t, []HotTerm{{Within: time.Minute, Count: 1}}, times(50, 0), []time.Duration{})
	if !b.Accepts(0, pod) || b.Best(indices(2), pod, func(cluster.NodeIndex) bool { return false }) != 0 {
		t.Error("want a node with a hot value to be a landing like any other")
	}
}

// BenchmarkScoreHotValue scores 5,000 nodes without and with Crane's two terms.
func BenchmarkScoreHotValue(b *testing.B) {
	for _, terms := range [][]HotTerm{nil, craneTerms} {
		b.Run(fmt.Sprintf("terms=%d", len(terms)), func(b *testing.B) {
			config := testConfig()
			config.HotValue = terms
			board, request, scores := config.board(b, fleet(5000)), indices(5000), make([]int8, 5000)
			b.ReportAllocs()
			for b.Loop() {
				board.Score(request, pod, scores)
			}
		})
	}
}

// BenchmarkNewBoardHotValue builds a board of 5,000 nodes with 30 pods each
// without and with Crane's two terms.
func BenchmarkNewBoardHotValue(b *testing.B) {
	view := fleet(5000)
	for i := range view.Snapshot.Nodes {
		for range 30 {
			view.Snapshot.Nodes[i].Pods = append(view.Snapshot.Nodes[i].Pods, &cluster.Pod{Created: noon})
		}
	}
	resolved := testConfig().set(b).Resolve(view)
	for _, terms := range [][]HotTerm{nil, craneTerms} {
		b.Run(fmt.Sprintf("terms=%d", len(terms)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				NewBoard(view, resolved, Config{HotValue: terms})
			}
		})
	}
}
