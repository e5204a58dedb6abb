package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/strategies"
)

// A fresh node, on which nothing recurs yet, is the coolest. Each pod that is moved there ahead of
// time is judged together with those before it in the plan.
func TestPodsAheadDoNotPileUpOnAFreshNode(t *testing.T) {
	var nodes []Node
	for n := range 4 {
		var all []strategies.Pod
		for k := range 3 {
			all = append(all, recurring(fmt.Sprintf("p%d%d", n, k), 10, 350))
		}
		nodes = append(nodes, quietly(fmt.Sprintf("node-%d", n), 100, all...)) // 1150 of 1000 at ten
	}
	nodes = append(nodes, cool("node-8-fresh", cluster.Amounts{0, 0}))
	for i := range 4 { // with a course: as much space at ten, but not as cool now
		other := quietly(fmt.Sprintf("node-9%d", i), 200)
		other.Pods = nil
		nodes = append(nodes, other)
	}
	in := aheadInput(nodes...)
	arrived := new(forecast.Course)
	count := map[string]int{}
	for _, m := range New(in).Moves {
		count[m.To]++
		if m.To == "node-8-fresh" {
			arrived.Add(m.Expected, m.Pattern)
		}
	}
	_, peak := arrived.Peak()
	minutes := arrived.HotMinutes(650, 1000, daily)
	if peak > 650 {
		t.Errorf("the fresh node is expected to use %d of 650 (allocatable 1000) at ten, %.0f hot minutes", peak, minutes)
	}
}

// Pods that leave nodes that are hot now do not pile up on a fresh node either, if they are placed
// by their peaks.
func TestPodsOfHotNodesDoNotPileUpOnAFreshNode(t *testing.T) {
	h := func(name string, p string) Node {
		return hot(name, cluster.Amounts{500, 100}, recurring(p, 10, 500, now(200)))
	}
	other := quietly("node-9", 60)
	other.Pods = nil
	in := aheadInput(h("node-1", "x"), h("node-2", "y"), cool("node-8-fresh", cluster.Amounts{0, 0}), other)
	for i := range in.Nodes[:2] {
		in.Nodes[i].Pods[0].Expected = forecast.Constant(20)
	}
	in.MinHotMinutesSaved = 0
	count := map[string]int{}
	for _, m := range New(in).Moves {
		count[m.To]++
	}
	if count["node-8-fresh"] > 1 {
		t.Errorf("%v: 1000 of 650 at ten on the fresh node, 60 on node-9", count)
	}
}

// The days repeat as in TestReliefAheadComesToRest, but there is a fresh node. As in
// strategies/realusage/input.go, its Course is unknown while nothing recurs there.
func TestAFreshNodeAndDaysThatRepeat(t *testing.T) {
	worse, again, piles := 0, 0, 0
	for seed := range uint64(60) {
		d, moved := newDays(rand.New(rand.NewPCG(seed, 7))), map[string]int{}
		d.nodes++ // a node without pods
		d.jobs = append(d.jobs, nil)
		input := func(at time.Time) Input {
			in := d.at(at)
			for i := range in.Nodes {
				if n := &in.Nodes[i]; len(n.Pods) == 0 {
					n.Course, n.Certain, n.Pods = nil, nil, nil
				}
			}
			return in
		}
		minutes := func(at time.Time) (sum float64, fresh float64) {
			in := d.at(at)
			for i := range in.Nodes {
				sum += in.Nodes[i].hotAhead(in.Nodes[i].Course, daily)
			}
			return sum, in.Nodes[d.nodes-1].hotAhead(in.Nodes[d.nodes-1].Course, daily)
		}
		before, _ := minutes(midnight)
		for half := range 6 * 48 {
			at := midnight.Add(time.Duration(half) * 30 * time.Minute)
			moves := New(input(at)).Moves
			for _, m := range moves {
				d.home[m.Name] = int(m.To[5]-'0')*10 + int(m.To[6]-'0')
				if moved[m.Name]++; moved[m.Name] == 2 {
					again++
				}
			}
			after, fresh := minutes(at)
			if after > before+0.01 {
				worse++
				t.Logf("seed %d, half hour %d: %d moves make nodes hot for %.0f minutes a day instead of %.0f; the fresh one for %.0f", seed, half, len(moves), after, before, fresh)
			}
			if len(moves) > 0 && fresh > 3 {
				piles++
			}
			before = after
		}
	}
	if worse > 0 {
		t.Errorf("%d plans made nodes hot for longer in all, %d made the fresh node hot, %d pods were moved twice", worse, piles, again)
	}
}

// A policy without an evict line of CPU, for example one that judges only memory, calls no node hot
// by CPU. Its HotLine is MaxInt64.
func TestNoMovesAheadWithoutAnEvictLineOfCPU(t *testing.T) {
	in := aheadInput(quietly("node-1", 100, recurring("a", 10, 480), recurring("b", 10, 480)), cool("node-2", cluster.Amounts{100, 100}))
	for i := range in.Nodes { // the values of thresholds.Resolved.HotLine and Board.Ceiling
		in.Nodes[i].HotLine, in.Nodes[i].Ceiling[cluster.CPU] = math.MaxInt64, math.MaxInt64
	}
	for _, m := range New(in).Moves {
		t.Errorf("%s", m.Sentence(nil))
	}
}
