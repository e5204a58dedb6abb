package plugin

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/scorer/answer"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// For the same View, the plugin and the extender keep the same nodes and rank them alike. An
// extender's score is the plugin's score in steps of ten, so the order of two nodes is never
// reversed.
func TestPluginAndExtenderAgree(t *testing.T) {
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) { checkAgreement(t, seed) }) // the extender waits for the watch
	}
}

func checkAgreement(t *testing.T, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	s := randomStand(t, random)
	pod := randomPod(random)
	here := s.schedule(pod)
	s.observer.Store().SetPod(pod) // without the pod in the watch, answers are less precise
	there, scores := s.askExtender(pod)
	if !slices.Equal(here.feasible, there) {
		t.Fatalf("seed %d: the plugin keeps %q, the extender %q", seed, here.feasible, there)
	}
	for name, score := range scores {
		scaled := (here.scores[name] + s.half()) / 10
		if len(there) > 1 && scaled != int64(score) {
			t.Fatalf("seed %d: node %q scores %d, and %d by the extender", seed, name, here.scores[name], score)
		}
	}
	checkOrder(t, seed, here.scores, scores)
}

func checkOrder(t *testing.T, seed uint64, here map[string]int64, there map[string]int8) {
	t.Helper()
	for a := range there {
		for b := range there {
			if len(there) > 1 && there[a] > there[b] && here[a] <= here[b] {
				t.Fatalf("seed %d: the extender prefers %q to %q (%d, %d), the plugin does not (%d, %d)",
					seed, a, b, there[a], there[b], here[a], here[b])
			}
		}
	}
}

// half returns the rounding of an extender's score. Measured scores are rounded down, as in earlier
// systems.
func (s *stand) half() int64 {
	if latest := s.observer.Latest(); latest != nil && latest.Board.Measured() {
		return 0
	}
	return 5
}

// askExtender asks about a pod as kube-scheduler does over HTTP: first filter, after which all
// nodes are kept if none would be left, then the scores of the rest.
func (s *stand) askExtender(pod *v1.Pod) (kept []string, scores map[string]int8) {
	var names []string
	for _, node := range s.nodes {
		if name := node.Node().Name; s.others == nil || s.others(name) {
			names = append(names, name)
		}
	}
	round, asked := s.answerer.Begin(), answer.Describe(pod)
	nodes, reasons := indices(round, names), make([]extender.Reject, len(names))
	round.Filter(asked, nodes, reasons)
	for i, reason := range reasons {
		if reason == extender.RejectNone {
			kept = append(kept, names[i])
		}
	}
	if len(kept) == 0 {
		kept = names
	}
	slices.Sort(kept)
	points := make([]int8, len(kept))
	round.Prioritize(asked, indices(round, kept), points)
	scores = map[string]int8{}
	for i, name := range kept {
		scores[name] = points[i]
	}
	return kept, scores
}

func indices(round extender.Round, names []string) []cluster.NodeIndex {
	nodes := make([]cluster.NodeIndex, len(names))
	for i, name := range names {
		nodes[i] = cluster.NodeIndex(round.Node([]byte(name)))
	}
	return nodes
}

// randomStand returns a stand with up to 24 nodes, from idle to overloaded. Some are unknown, some
// are refused by other plugins, and sometimes there are moves in flight.
func randomStand(t *testing.T, random *rand.Rand) *stand {
	t.Helper()
	s := newStand(t, randomScoring(random))
	n := 1 + random.IntN(24)
	for i := range n {
		used := random.Int64N(11_000)
		if random.IntN(8) == 0 {
			used = -1
		}
		s.node(fmt.Sprintf("node-%02d", i), used)
	}
	if random.IntN(10) > 0 {
		s.observeFor(7)
	}
	refused, odds := map[string]bool{}, 1+random.IntN(4)
	for _, node := range s.nodes {
		refused[node.Node().Name] = random.IntN(odds) > 0 && random.IntN(3) > 0
	}
	s.others = func(node string) bool { return !refused[node] }
	for i := range random.IntN(3) {
		s.record(i, s.nodes[random.IntN(n)].Node().Name, s.nodes[random.IntN(n)].Node().Name)
	}
	return s
}

func randomScoring(random *rand.Rand) scorer.Config {
	config := scorer.Config{DampPercent: float64(random.IntN(20))}
	if random.IntN(3) == 0 {
		config.HotValue = []scorer.HotTerm{{Within: time.Hour, Count: 1 + random.IntN(3)}}
	}
	if random.IntN(2) == 0 {
		config.Measured = &scorer.Measured{
			Formula: scorer.Formula(random.IntN(3)),
			Terms:   []scorer.Term{{Resource: cluster.CPU, Window: usage.Avg5m, Weight: 1}},
			Limits:  []scorer.Limit{{Resource: cluster.CPU, Window: usage.Avg5m, Percent: float64(20 + random.IntN(80))}},
		}
	}
	return config
}

func randomPod(random *rand.Rand) *v1.Pod {
	switch random.IntN(4) {
	case 0, 2:
		return webPod("new")
	case 1:
		daemon := webPod("new")
		daemon.OwnerReferences[0].Kind, daemon.OwnerReferences[0].UID = "DaemonSet", "ds-1"
		return daemon
	}
	return strange("p", fmt.Sprintf("%dm", random.IntN(3000)))
}
