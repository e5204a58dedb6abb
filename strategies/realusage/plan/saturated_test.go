package plan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// saturating makes a hot node one whose demand for CPU exceeds its capacity.
func saturating(n Node) Node {
	n = overfull(n)
	n.Full, n.ByCPU = true, true
	return n
}

// stayingFull makes a node one whose demand for CPU has exceeded its capacity for hours.
func stayingFull(n Node) Node {
	n = saturating(n)
	n.FullForHours = true
	return n
}

func warm(n Node) Node {
	n.State = thresholds.Warm
	return n
}

func overOther(n Node) Node {
	n.OverOther = true
	return n
}

// beyondASignal puts a node above the reject line of a signal.
func beyondASignal(n *Node) { n.Domain = "beyond" }

// lined applies the shipped lines to the nodes.
func lined(nodes []Node) []Node {
	shipped().on(nodes)
	for i := range nodes {
		if nodes[i].Domain == "beyond" {
			nodes[i].Domain, nodes[i].Ceiling = "", cluster.Amounts{}
		}
	}
	return nodes
}

// If the demand does not allow all nodes to stay at their evict lines, a full node is relieved by
// moves to a node with less demand. The destination must not become about as busy or nearly full,
// and must have memory left, be open and be known.
func TestFullNodesAreComparedWithOthers(t *testing.T) {
	at := func(percent int64) cluster.Amounts { return cluster.Amounts{10 * percent, 100} }
	source := func(change ...func(*strategies.Pod)) Node {
		return saturating(hot("full", at(0), pods(5, "p", at(20), append(change, wanting(100))...)...)) // a demand of 150 %
	}
	busy := hot("busy", at(96))
	var spare []Node
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		spare = append(spare, warm(cool(name, at(50))))
	}
	for name, tc := range map[string]struct {
		nodes   []Node
		refuses []string
		want    []string
	}{
		"to a warm node":          {nodes: []Node{source(), warm(cool("w", at(55))), busy}, want: []string{"p0: full -> w"}},
		"to a node that is hot":   {nodes: []Node{source(), hot("h", at(68)), busy}, want: []string{"p0: full -> h"}},
		"to the least busy":       {nodes: []Node{source(), hot("h", at(68)), hot("i", at(66)), busy}, want: []string{"p0: full -> i"}},
		"not to one nearly full":  {nodes: []Node{source(), hot("h", at(71)), busy}},
		"not to one that is full": {nodes: []Node{source(), busy}},
		"not without memory":      {nodes: []Node{source(), hot("h", cluster.Amounts{600, 590}), busy}},
		"not beyond a signal": {nodes: []Node{
			source(func(p *strategies.Pod) { p.Usage[cluster.Memory] = 0 }), warm(cool("w", cluster.Amounts{550, 0}, beyondASignal)), busy,
		}},
		"not to one that is hot by another metric": {
			nodes: []Node{source(), hot("h", at(68)), overOther(hot("i", at(60))), busy}, want: []string{"p0: full -> h"},
		},
		"not to a closed node":                               {nodes: []Node{source(), cool("c", at(60), closedFor("it is cordoned")), busy}},
		"not to an unknown node":                             {nodes: []Node{source(), {Name: "u", Allocatable: thousand, State: thresholds.Unknown}, busy}},
		"not against a filter":                               {nodes: []Node{source(), warm(cool("w", at(55))), busy}, refuses: []string{"*@w"}},
		"not while all could cool":                           {nodes: append(slices.Clone(spare), source())},
		"off a node that stays full, even if all could cool": {nodes: append(slices.Clone(spare), stayingFull(source())), want: []string{"p0: full -> a", "p1: full -> b"}},
		"where nodes that its pods must not go to are idle": {
			nodes: []Node{within("spot", source()), within("spot", warm(cool("w", at(55)))), within("spot", hot("busy", at(96))), cool("idle-1", at(5)), cool("idle-2", at(5))},
			want:  []string{"p0: full -> w"},
		},
		"not where nodes that its pods must not go to are busy": {
			nodes: append(slices.Clone(spare), source(), within("spot", hot("busy-1", at(96))), within("spot", hot("busy-2", at(96))), within("spot", hot("busy-3", at(96)))),
		},
		"not at any disruption": {nodes: []Node{source(costing(400)), warm(cool("w", at(55))), busy}},
		"not refused pods":      {nodes: []Node{source(refused(reasons.JobPod)), warm(cool("w", at(55))), busy}},
		"not off a node without excess demand": {
			nodes: []Node{hot("h", at(0), pods(4, "p", at(24))...), warm(cool("w", at(55))), busy},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Nodes: lined(tc.nodes), Placement: &refusing{pairs: tc.refuses}, MinHotMinutesSaved: 10}
			plan := New(in)
			var got []string
			for _, m := range plan.Moves {
				got = append(got, m.Name+": "+m.From+" -> "+m.To)
				if m.Reason != reasons.NodeFull || m.CeilingMilliCores != 900 {
					t.Errorf("pod %s is moved for %s, up to %d", m.Name, m.Reason, m.CeilingMilliCores)
				}
				if says := m.Sentence(nil); !strings.Contains(says, "more demand for CPU than capacity") || strings.Contains(says, "is hot") ||
					!strings.Contains(says, "at most 90%") || strings.Contains(says, "hot minutes") {
					t.Errorf("its sentence is %q", says)
				}
			}
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
			for _, d := range plan.Declined {
				for _, m := range plan.Moves {
					if d.Name == m.Name {
						t.Errorf("pod %s is moved and declined: %s", d.Name, d.Reason)
					}
				}
			}
			if in.Placement.(*refusing).moved["p0"] != "" {
				t.Error("the placement still counts a move of the plan")
			}
		})
	}
}

// The demand on one node exceeds its capacity. All other nodes, however many there are, have the
// same usage, which is too high for them to be cool, or even to accept anything below their reject
// lines. Pods leave the full node until it is no longer full. No other node becomes about as full
// as it was, and no pod comes back.
func TestASingleFullNodeIsRelieved(t *testing.T) {
	for _, others := range []int{4, 12, 40, 99} {
		for _, percent := range []int{46, 50, 55, 59, 62, 64} {
			for _, pods := range []int{10, 30} {
				for _, known := range []bool{false, true} {
					var all []*wants
					for i := range pods {
						all = append(all, &wants{name: fmt.Sprintf("p%d", i), cpu: 1300 / int64(pods), requests: 10})
					}
					for node := range others {
						all = append(all, &wants{name: fmt.Sprintf("other%d", node), cpu: int64(10 * percent), requests: 10, node: 1 + node})
					}
					at, left := time.Unix(1_800_000_000, 0), map[string]bool{}
					for step := range 30 {
						in := steady(all, others+1, known)
						in.At = at.Add(time.Duration(step) * 5 * time.Minute)
						for _, m := range New(in).Moves {
							w := all[slices.IndexFunc(all, func(w *wants) bool { return w.name == m.Name })]
							if left[m.Name+m.To] {
								t.Fatalf("%d others at %d%%: %s comes back to %s", others, percent, m.Name, m.To)
							}
							left[m.Name+m.From] = true
							w.node, w.created = int([]rune(m.To)[0]-'A'), in.At
						}
					}
					asked := make([]int64, others+1)
					for _, w := range all {
						asked[w.node] += w.cpu
					}
					if asked[0] >= 1000 || slices.Max(asked) > 970 {
						t.Errorf("%d others at %d%%, %d pods, demand known %v: the demand on the full node is still %d of 1000, on the others at most %d",
							others, percent, pods, known, asked[0], slices.Max(asked[1:]))
					}
				}
			}
		}
	}
}

// A full node does not keep others from being relieved in the same plan, unless all nodes are busy.
// The space that its pods take on a node is taken into account.
func TestFullNodesDoNotHoldUpOthers(t *testing.T) {
	full := stayingFull(hot("full", cluster.Amounts{}, pods(5, "p", cluster.Amounts{200, 10}, wanting(100))...))
	crowded := hot("crowded", cluster.Amounts{}, pods(8, "q", cluster.Amounts{100, 10})...)
	crowded.ByCPU = true
	soon := quietly("soon", 100, recurring("a", 10, 350), recurring("b", 10, 350))
	nodes := []Node{full, crowded, cool("idle", cluster.Amounts{500, 10}), warm(cool("w1", cluster.Amounts{560, 10})), warm(cool("w2", cluster.Amounts{560, 10})), warm(cool("w3", cluster.Amounts{560, 10}))}
	for range 4 {
		nodes = append(nodes, warm(cool(fmt.Sprint("x", len(nodes)), cluster.Amounts{460, 10})))
	}
	nodes = lined(append(nodes, cool("picky", cluster.Amounts{100, 10}), soon))
	picky := &refusing{}
	for i := range 8 {
		picky.pairs = append(picky.pairs, fmt.Sprintf("p%d@picky", i), fmt.Sprintf("q%d@picky", i), fmt.Sprintf("p%d@soon", i), fmt.Sprintf("q%d@soon", i))
	}
	in := Input{Nodes: nodes, Placement: picky, MinHotMinutesSaved: 10, Recurs: daily, At: midnight.Add(8 * time.Hour)}
	from, to := map[string]int{}, map[string]int64{}
	for _, m := range New(in).Moves {
		from[m.From]++
		to[m.To] += m.Usage[cluster.CPU]
	}
	if from["full"] == 0 || from["crowded"] == 0 || from["soon"] == 0 {
		t.Errorf("moves by source: %v", from)
	}
	for i := range nodes {
		if used := nodes[i].Predicted[cluster.CPU] + to[nodes[i].Name]; to[nodes[i].Name] > 0 && used > 900 {
			t.Errorf("%s is filled up to %d", nodes[i].Name, used)
		}
	}
}

// A node that the plan cools accepts no pods of a full node in the same plan.
func TestANodeThatPodsLeaveAcceptsNone(t *testing.T) {
	at := func(percent int64) cluster.Amounts { return cluster.Amounts{10 * percent, 10} }
	full := saturating(hot("full", at(0), pods(5, "p", at(20), wanting(100))...))
	refuses := []string{"p0@cool", "p1@cool", "p2@cool", "p3@cool", "p4@cool"}
	leaving := hot("leaving", at(63), pods(1, "q", at(4))...)
	leaving.ByCPU = true
	nodes := []Node{full, leaving, cool("cool", at(55)), hot("busy", at(96))}
	in := Input{Nodes: shipped().on(nodes), Placement: &refusing{pairs: refuses}, MinHotMinutesSaved: 10}
	into := map[string][]string{}
	for _, m := range New(in).Moves {
		into[m.To] = append(into[m.To], m.Name)
	}
	if diff := gocmp.Diff(map[string][]string{"cool": {"q0"}}, into); diff != "" {
		t.Errorf("moves by destination (-want +got):\n%s", diff)
	}
}

// wants is a pod with constant demand: its demand, and how much of that is visible while its node
// is full.
type wants struct {
	name          string
	cpu, requests int64
	node          int
	created       time.Time
}

// shares returns the CPU that each pod gets. That is its whole demand or, on a full node, at most a
// share in proportion to its request, as the kernel divides CPU.
func shares(all []*wants, nodes int) map[*wants]int64 {
	gets := map[*wants]int64{}
	for node := range nodes {
		left, here := int64(1000), []*wants(nil)
		for _, w := range all {
			if w.node == node {
				here = append(here, w)
			}
		}
		slices.SortFunc(here, func(a, b *wants) int { return cmp.Compare(a.cpu*b.requests, b.cpu*a.requests) })
		for k, w := range here {
			requested := int64(0)
			for _, other := range here[k:] {
				requested += other.requests
			}
			gets[w] = min(w.cpu, left*w.requests/requested)
			left -= gets[w]
		}
	}
	return gets
}

// Moves are not reversed. Whatever demand pods have and show, no pod returns to a full node that it
// left within the time for which moves are judged. Later, few pods return: if several left a node
// and others want more than they show, it may again be the best place. Eventually the moves end. A
// plan is made every five minutes, and replacements count as new pods.
func TestNoPodOfAFullNodeComesBack(t *testing.T) {
	moves, later := 0, 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 7))
		nodes, known := 2+rng.IntN(5), rng.IntN(2) == 0
		var all []*wants
		for node := range nodes {
			asked, pods := 450+rng.IntN(450), 2+rng.IntN(9)
			if node == 0 || rng.IntN(4) == 0 {
				asked += 800 + rng.IntN(1200)
			}
			for range pods {
				most := 2 * asked / pods
				all = append(all, &wants{name: fmt.Sprintf("p%d", len(all)), cpu: int64(10 + rng.IntN(most)), requests: int64(10 + rng.IntN(200)), node: node})
			}
		}
		left := map[string]time.Time{} // by pod and full node
		at, rests := time.Unix(1_800_000_000, 0), false
		for step := 0; ; step++ {
			in := steady(all, nodes, known)
			in.At = at
			plan := New(in)
			if len(plan.Moves) == 0 {
				if rests {
					break
				}
				rests, at = true, at.Add(forecast.Horizon) // until every pod may be moved again
				continue
			}
			if step == 100 {
				t.Fatalf("seed %d: pods are still moved after %d plans", seed, step)
			}
			rests, at = false, at.Add(5*time.Minute)
			for _, m := range plan.Moves {
				w := all[slices.IndexFunc(all, func(w *wants) bool { return w.name == m.Name })]
				switch since, was := left[m.Name+m.To]; {
				case was && in.At.Sub(since) < forecast.Horizon:
					t.Fatalf("seed %d: pod %s is moved back from %s to %s (%s)", seed, m.Name, m.From, m.To, m.Reason)
				case was:
					later++
				}
				if m.Reason == reasons.NodeFull {
					left[m.Name+m.From] = in.At
					moves++
				}
				w.node, w.created = int(m.To[0]-'A'), in.At
			}
		}
	}
	if moves < 400 {
		t.Errorf("%d pods in all are moved off full nodes, which proves little", moves)
	}
	if 500*later > moves {
		t.Errorf("%d of %d moves go back later", later, moves)
	}
}

// steady returns the planner's input for pods with the given demand. If known is set, their
// unserved demand is estimated correctly.
func steady(all []*wants, nodes int, known bool) Input {
	in := Input{Placement: &refusing{}, MinHotMinutesSaved: 10}
	gets := shares(all, nodes)
	for i := range nodes {
		var here []strategies.Pod
		var created []time.Time
		unserved := int64(0)
		for _, w := range all {
			if w.node != i {
				continue
			}
			p := pod(w.name, cluster.Amounts{gets[w], 1})
			if known {
				p.Unserved = w.cpu - gets[w]
			}
			unserved += p.Unserved
			here, created = append(here, p), append(created, w.created)
		}
		node := hot(string(rune('A'+i)), cluster.Amounts{}, here...)
		for k := range node.Pods {
			node.Pods[k].Created = created[k]
		}
		node.ByCPU, node.Full, node.Unserved = true, node.Current[cluster.CPU] >= 970, unserved
		node.FullForHours = node.Full
		switch used := node.Current[cluster.CPU]; {
		case used <= 450:
			node.State, node.Pods = thresholds.Cool, nil
		case used <= 650:
			node.State, node.Pods = thresholds.Warm, nil
		}
		in.Nodes = append(in.Nodes, node)
	}
	shipped().on(in.Nodes)
	return in
}

// The pods of a node that stays full show no peaks, and each may be small. Its unserved demand
// still justifies moves, even of more expensive pods, and even to nodes that become hot because of
// them. It justifies none if the node was not full all the time, or may not have been, and none to
// a node without CPU left.
func TestNodesThatStayFullAreRelieved(t *testing.T) {
	for name, tc := range map[string]struct {
		pods, quarters int
		lasting        int64   // the expected usage of the node in the last span, in percent, if not 100
		unseen         bool    // it is unknown whether the node has been full for hours
		to             []int64 // the CPU usage of the other nodes, in percent
		later          int64   // by how much more the others are expected to use for hours, in percent
		want           int
	}{
		"pods of 2%":                             {pods: 50, quarters: 4, to: []int64{58, 66, 72, 80}, want: 4},
		"pods of 0.4%":                           {pods: 250, quarters: 4, to: []int64{65, 75, 85}, want: 4},
		"pods of a StatefulSet":                  {pods: 50, quarters: 9, to: []int64{66, 70, 75, 90}, want: 4},
		"to nodes that get hot by it":            {pods: 50, quarters: 9, to: []int64{64, 64, 64, 64, 64}, want: 4},
		"not pods that cost as much as three":    {pods: 50, quarters: 12, to: []int64{66, 70, 75}},
		"not where it was full by turns":         {pods: 50, quarters: 4, lasting: 97, to: []int64{66, 70, 75}},
		"not where it was seen full only lately": {pods: 50, quarters: 4, unseen: true, to: []int64{66, 70, 75}},
		"not to nodes that use less only now":    {pods: 50, quarters: 4, to: []int64{66, 70, 75}, later: 25},
		"to nodes that will still have room":     {pods: 50, quarters: 4, to: []int64{66, 70, 75}, later: 13, want: 4},
		"not to nodes that are nearly full":      {pods: 50, quarters: 4, to: []int64{89, 90, 95}},
	} {
		t.Run(name, func(t *testing.T) {
			used := cluster.Amounts{int64(1000 / tc.pods), 1}
			full := stayingFull(hot("full", cluster.Amounts{}, pods(tc.pods, "p", used, costing(tc.quarters))...))
			full.FullForHours = !tc.unseen
			nodes := []Node{full}
			for i, percent := range tc.to {
				nodes = append(nodes, hot(fmt.Sprint("h", i), cluster.Amounts{10 * percent, 100}))
				if percent <= 65 {
					nodes[i+1] = warm(nodes[i+1])
				}
			}
			lined(nodes)
			for k := range nodes[0].Pods {
				if pod := &nodes[0].Pods[k]; tc.lasting > 0 {
					nodes[0].Load.Remove(pod.Expected)
					pod.Expected[forecast.Spans-1].Mean *= float32(tc.lasting) / 100
					nodes[0].Load.Add(pod.Expected)
				}
			}
			for i := range nodes[1:] {
				nodes[i+1].Load.Shift(10 * tc.later)
			}
			plan := New(Input{Nodes: nodes, Placement: &refusing{}, MinHotMinutesSaved: 10})
			if len(plan.Moves) != tc.want {
				t.Errorf("%d moves, want %d: %v", len(plan.Moves), tc.want, described(plan))
			}
		})
	}
}

// Recently moved pods stay where they are while their node is full, so that none moves on or back
// with each change in load. Other pods that are as young may leave the node.
func TestMovedPodsStayOnFullNodes(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	full := stayingFull(hot("full", cluster.Amounts{}, pods(10, "p", cluster.Amounts{100, 1})...))
	in := Input{
		Nodes: lined([]Node{full, hot("a", cluster.Amounts{660, 100}), hot("b", cluster.Amounts{700, 100})}), Placement: &refusing{},
		MinHotMinutesSaved: 10, At: now,
	}
	for k := range in.Nodes[0].Pods {
		pod := &in.Nodes[0].Pods[k]
		pod.UID, pod.Created = pod.Name, now.Add(-forecast.Horizon)
	}
	plan := New(in)
	if len(plan.Moves) == 0 {
		t.Fatal("no pod leaves the full node")
	}
	for k := range in.Nodes[0].Pods {
		pod := &in.Nodes[0].Pods[k]
		pod.Disruption.Again = slices.ContainsFunc(plan.Moves, func(m strategies.Move) bool { return m.UID == pod.UID })
	}
	for _, m := range New(in).Moves {
		if m.Disruption.Again {
			t.Errorf("%s is moved again", m.Name)
		}
	}
	for k := range in.Nodes[0].Pods {
		in.Nodes[0].Pods[k].Disruption.Again = true
	}
	if again := New(in).Moves; len(again) != 0 {
		t.Errorf("%d pods leave the full node, all of which were moved to it within a day", len(again))
	}
}
