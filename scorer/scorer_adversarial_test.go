package scorer

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Whatever the input of a board, scores stay within the range of the wire, and the coolest known
// node below the line has the highest score.
func TestScoresStayOnTheirScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	inf := math.Inf(1)
	configs := map[string]lined{
		"as shipped":      testConfig(),
		"no lines":        {reject: cluster.Percents{inf, inf}},
		"lines at zero":   {Config: Config{DampPercent: 5}},
		"no numbers":      {cluster.Percents{math.NaN(), math.NaN()}, Config{Weights: cluster.Percents{math.NaN(), 1}, DampPercent: math.NaN()}},
		"endless damping": {cluster.Percents{60, 75}, Config{DampPercent: inf}},
		"negative":        {cluster.Percents{-1, -1}, Config{DampPercent: -5}},
	}
	for name, config := range configs {
		t.Run(name, func(t *testing.T) {
			for range 300 {
				nodes := make([]at, rng.IntN(8))
				for i := range nodes {
					nodes[i] = []at{{rng.Int64N(100), rng.Int64N(100)}, {rng.Int64N(1000), 0}, {-5, -5}, unknown}[rng.IntN(4)]
				}
				b := boardOf(t, config, nodes...)
				request := indices(len(nodes))
				if len(request) > 0 && rng.IntN(3) == 0 {
					request[rng.IntN(len(request))] = -1
				}
				scores := make([]int8, len(nodes))
				b.Score(request, pod, scores)
				checkScores(t, b, request, scores)
			}
		})
	}
}

func checkScores(t *testing.T, b *Board, request []cluster.NodeIndex, scores []int8) {
	t.Helper()
	best := b.Best(request, pod, func(cluster.NodeIndex) bool { return false })
	for k, i := range request {
		if scores[k] < 0 || scores[k] > MaxScore {
			t.Fatalf("score %d", scores[k])
		}
		if _, known := b.With(i, pod); known && best >= 0 && i != best {
			if at := position(request, best); scores[k] > scores[at] {
				t.Fatalf("node %d scores %d, above the coolest at %d", i, scores[k], scores[at])
			}
		}
	}
}

func position(request []cluster.NodeIndex, node cluster.NodeIndex) int {
	for k, i := range request {
		if i == node {
			return k
		}
	}
	return 0
}

// A node without capacity is full as soon as anything is on it, and no division fails.
func TestBoardOfNothing(t *testing.T) {
	nothing := predicted(cluster.Amounts{})
	b := testConfig().board(t, viewOf([]cluster.Node{{Name: "a"}, {Name: "b", Allocatable: cluster.Amounts{-1, -1}}}, []usage.NodeUsage{nothing, nothing}))
	scores := make([]int8, 2)
	b.Score(indices(2), pod, scores)
	if b.Accepts(0, pod) || b.Accepts(1, pod) || !b.Accepts(0, cluster.Amounts{}) {
		t.Error("want a node of no size to accept a pod of no size alone")
	}
	if scores[0] != 5 || scores[1] != 5 {
		t.Errorf("scores %v, want both in the middle", scores)
	}
	empty := testConfig().board(t, viewOf(nil, nil))
	empty.Score(nil, pod, nil)
	if empty.Best(nil, pod, func(cluster.NodeIndex) bool { return false }) != -1 || empty.Len() != 0 {
		t.Error("an empty board has a best node")
	}
}
