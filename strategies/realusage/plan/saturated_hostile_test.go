package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// A plan can be made for any amounts of full nodes and their pods. It is reproducible and within
// its limits, moves only pods that may be moved, only to open nodes that accept them, and leaves
// the Placement unchanged.
func TestPlansOfFullNodesWithHostileAmounts(t *testing.T) {
	const clusters = 3000
	rng := rand.New(rand.NewPCG(7, 8))
	moved := 0
	for range clusters {
		in := hostile(rng)
		plan := New(in)
		moved += len(plan.Moves)
		if in.MaxMoves > 0 && len(plan.Moves) > in.MaxMoves {
			t.Fatalf("%d moves, at most %d are allowed", len(plan.Moves), in.MaxMoves)
		}
		seen, nodes := map[string]bool{}, map[string]*Node{}
		for i := range in.Nodes {
			nodes[in.Nodes[i].Name] = &in.Nodes[i]
		}
		for _, m := range plan.Moves {
			to, from := nodes[m.To], nodes[m.From]
			if seen[m.UID] || m.Refused != "" || m.To == m.From || to.State == thresholds.Unknown || to.Closed != "" || from.State != thresholds.Hot {
				t.Fatalf("unsound move %s: %s -> %s of %v", m.Name, m.From, m.To, described(plan))
			}
			seen[m.UID] = true
			for _, p := range []cluster.Percents{m.FromBefore, m.FromAfter, m.ToBefore, m.ToAfter} {
				if math.IsNaN(p[cluster.CPU]) {
					t.Fatalf("%s: %v", m.Name, p)
				}
			}
			if m.Reason == reasons.NodeFull && m.Usage[cluster.CPU]+m.Unserved <= 0 {
				t.Fatalf("%s uses nothing", m.Name)
			}
		}
		if left := in.Placement.(*refusing).moved; len(left) > 0 {
			t.Fatalf("the placement still counts %v", left)
		}
		if again := moves(New(in)); again != moves(plan) {
			t.Fatalf("plans differ:\n%s\n%s", moves(plan), again)
		}
	}
	if moved < clusters/10 {
		t.Errorf("%d moves in %d clusters: the test proves little", moved, clusters)
	}
}

func hostile(rng *rand.Rand) Input {
	amount := func(usual int64) int64 {
		switch rng.IntN(80) {
		case 0:
			return 0
		case 1:
			return -usual - 1
		case 2:
			return math.MaxInt64
		case 3:
			return math.MinInt64
		case 4:
			return 1 << 60
		}
		return rng.Int64N(usual + 1)
	}
	in := Input{Placement: &refusing{}, MinHotMinutesSaved: 10, MinGainPercent: 0.5, MaxMoves: rng.IntN(6), MaxPerNode: rng.IntN(4)}
	for i := range 2 + rng.IntN(5) {
		var here []strategies.Pod
		for k := range rng.IntN(8) {
			here = append(here, pod(fmt.Sprintf("p%d-%d", i, k), cluster.Amounts{amount(300), amount(200)}, wanting(amount(200)), costing(rng.IntN(20))))
			if rng.IntN(6) == 0 {
				here[k].Refused = reasons.JobPod
			}
		}
		n := hot(fmt.Sprintf("n%d", i), cluster.Amounts{rng.Int64N(300), rng.Int64N(100)}, here...)
		if rng.IntN(3) == 0 {
			n = cool(n.Name, cluster.Amounts{amount(600), amount(400)})
			n.State = []thresholds.State{thresholds.Cool, thresholds.Warm, thresholds.Unknown}[rng.IntN(3)]
		}
		if rng.IntN(8) == 0 {
			n.Closed = "it is cordoned"
		}
		in.Nodes = append(in.Nodes, n)
	}
	shipped().on(in.Nodes)
	for i := range in.Nodes {
		n := &in.Nodes[i]
		n.Unserved, n.Full, n.ByCPU = amount(500), n.State == thresholds.Hot && rng.IntN(2) == 0, rng.IntN(4) > 0
		n.Predicted[cluster.CPU], n.Current[cluster.CPU] = amount(1200), amount(1200)
		if rng.IntN(10) == 0 {
			n.Allocatable = cluster.Amounts{amount(1000), amount(1000)}
		}
		if rng.IntN(10) == 0 {
			n.HotLine = amount(1000)
		}
		for k := range n.Pods {
			for s := range n.Pods[k].Expected {
				e := &n.Pods[k].Expected[s]
				switch rng.IntN(60) {
				case 0:
					e.Mean = float32(math.Inf(1))
				case 1:
					e.Mean = float32(math.NaN())
				case 2:
					e.Variance = float32(math.NaN())
				case 3:
					e.Mean = -e.Mean
				}
			}
		}
	}
	return in
}
