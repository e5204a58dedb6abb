package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/strategies"
)

// After any sequence of landings and undos, withRoom yields the same destinations, in the same
// order, as a check of each destination.
func TestWithRoomEqualsCheckingEach(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := newDestinations(randomDestinations(rng, 1+rng.IntN(300)), coolestFirst)
		for step := range 200 {
			pod := cluster.Amounts{rng.Int64N(9_000), rng.Int64N(9_000)}
			if rng.IntN(2) == 0 { // a pod that fits exactly
				pod = p.cool[rng.IntN(len(p.cool))].headroom().AtLeastZero()
			}
			for _, by := range []order{coolestFirst, tightestFirst} {
				if diff := cmp.Diff(looked(p, pod, by), names(p, pod, by)); diff != "" {
					t.Fatalf("seed %d, step %d, pod %v (-checked each +withRoom):\n%s", seed, step, pod, diff)
				}
			}
			if rng.IntN(3) == 0 {
				pod = cluster.Amounts{}.Minus(pod)
			}
			for b := range p.room { // makes the entries as tight as possible
				p.room.measure(p, b)
			}
			d := &p.cool[rng.IntN(len(p.cool))]
			p.shift(d, func() {
				d.predicted = d.predicted.Plus(pod)
				d.load.Shift(pod[cluster.CPU])
			})
			for place, i := range p.byFill {
				if !p.room.mayTake(place/blockSize, p.cool[i].headroom()) {
					t.Fatalf("seed %d, step %d: the block of %q has no space for a pod that just fits", seed, step, p.cool[i].name)
				}
			}
		}
	}
}

// randomDestinations returns cool nodes of different sizes, some of which are full in one resource
// and empty in the other.
func randomDestinations(rng *rand.Rand, nodes int) *Input {
	in := &Input{Placement: anywhere{}}
	for i := range nodes {
		n := Node{Name: fmt.Sprintf("node-%03d", i), State: thresholds.Cool, Ceiling: cluster.Amounts{1 + rng.Int64N(10_000), 1 + rng.Int64N(10_000)}}
		n.Predicted = cluster.Amounts{rng.Int64N(12_000), rng.Int64N(12_000)}
		n.Load.Shift(n.Predicted[cluster.CPU])
		in.Nodes = append(in.Nodes, n)
	}
	return in
}

func looked(p *destinations, pod cluster.Amounts, by order) []string {
	var found []string
	for _, i := range p.byFill {
		if p.cool[i].takes(pod) {
			found = append(found, p.cool[i].name)
		}
	}
	if by == tightestFirst {
		slices.Reverse(found)
	}
	return found
}

func names(p *destinations, pod cluster.Amounts, by order) []string {
	var found []string
	for d := range p.withRoom(&strategies.Pod{Pod: &cluster.Pod{}, Usage: pod}, by, false) {
		found = append(found, d.name)
	}
	return found
}

// A pod for which no destination has space is not compared with each destination again.
func TestWithRoomLearns(t *testing.T) {
	p := newDestinations(randomDestinations(rand.New(rand.NewPCG(1, 1)), 64*blockSize), coolestFirst)
	pod := cluster.Amounts{20_000, 0} // more than any ceiling
	ask := func() int {
		before := p.examined
		if found := names(p, pod, coolestFirst); found != nil {
			t.Fatalf("found %v", found)
		}
		return p.examined - before
	}
	for _, milliCores := range []int64{-30_000, 30_000} {
		p.shift(&p.cool[0], func() { p.cool[0].predicted[cluster.CPU] += milliCores })
	}
	if first, second := ask(), ask(); first <= 64 || second != 64 {
		t.Errorf("looked %d times, then %d times; want once more than at the 64 blocks and then at these alone", first, second)
	}
}

// Without a destination, there is no space and no error.
func TestWithRoomOfNothing(t *testing.T) {
	if got := names(newDestinations(&Input{}, coolestFirst), cluster.Amounts{}, tightestFirst); got != nil {
		t.Errorf("got %v", got)
	}
}
