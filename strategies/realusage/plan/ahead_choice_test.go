package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

func movesOf(in Input) (moved []string) {
	for _, line := range described(New(in)) {
		if strings.Contains(line, "->") {
			moved = append(moved, line)
		}
	}
	return moved
}

func aheadInput(nodes ...Node) Input {
	return Input{Nodes: shipped().on(nodes), Placement: &refusing{}, MinHotMinutesSaved: 10, Recurs: daily, At: midnight}
}

// Of pods whose moves save the same, one of the lowest priority is moved, and of these the one that
// causes the least disruption, as on hot nodes.
func TestWhichPodMovesAhead(t *testing.T) {
	important := func(name string, p int32) strategies.Pod {
		pod := recurring(name, 10, 350)
		pod.Pod.Priority = p
		return pod
	}
	two := quietly("node-1", 100, important("a", 0), important("b", 0))
	two.Pods[0].Pod.Priority = 100_000
	if diff := cmp.Diff([]string{"b: node-1 -> node-2"}, movesOf(aheadInput(two, cool("node-2", cluster.Amounts{100, 100})))); diff != "" {
		t.Errorf("by priority (-want +got):\n%s", diff)
	}
	two = quietly("node-1", 100, recurring("a", 10, 350, disruption(5)), recurring("b", 10, 350))
	if diff := cmp.Diff([]string{"b: node-1 -> node-2"}, movesOf(aheadInput(two, cool("node-2", cluster.Amounts{100, 100})))); diff != "" {
		t.Errorf("by what it disrupts (-want +got):\n%s", diff)
	}
}

// A destination that a pod would make hot at the hour of its burst is used only if no other is
// suitable, even if nothing recurs there yet.
func TestLandingsByPeaksWhereNothingRecurs(t *testing.T) {
	hotNow := func() Node {
		p := recurring("x", 10, 500, now(200))
		n := hot("node-1", cluster.Amounts{500, 100}, p)
		return n
	}
	plain := cool("node-2", cluster.Amounts{200, 100}) // 700 at ten
	other := quietly("node-3", 110, recurring("own", 16, 300, now(100)))
	other.Pods = nil // 610 at ten, 430 at four
	if diff := cmp.Diff([]string{"x: node-1 -> node-3"}, movesOf(aheadInput(hotNow(), plain, other))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An order that cools hot nodes at a lower cost is better, whatever its moves ahead of time.
func TestReliefAheadMakesNoOrderWorse(t *testing.T) {
	nodes := func() []Node {
		return []Node{
			hot("node-1", cluster.Amounts{640, 0}, pod("p", cluster.Amounts{260, 0})),
			hot("node-2", cluster.Amounts{250, 0}, pod("r", cluster.Amounts{300, 0}), pod("r1", cluster.Amounts{150, 0}), pod("r2", cluster.Amounts{150, 0})),
			cool("node-3", cluster.Amounts{300, 0}), cool("node-4", cluster.Amounts{340, 0}), cool("node-5", cluster.Amounts{400, 0}),
		}
	}
	want := []string{"p: node-1 -> node-4", "r: node-2 -> node-3"}
	if diff := cmp.Diff(want, movesOf(aheadInput(nodes()...))); diff != "" {
		t.Fatalf("without a node that will be hot (-want +got):\n%s", diff)
	}
	more := append(nodes(), within("other", quietly("node-6", 100, recurring("a", 10, 350), recurring("b", 10, 350))),
		within("other", cool("node-7", cluster.Amounts{100, 100})))
	if diff := cmp.Diff(append(want, "a: node-6 -> node-7"), movesOf(aheadInput(more...))); diff != "" {
		t.Errorf("with a node that will be hot (-want +got):\n%s", diff)
	}
}

// The required saving refers to as much time as the pattern has been observed for.
func TestShortPeriodsAreBelievedForAsLongAsTheyWereSeen(t *testing.T) {
	clock := forecast.Clock{Period: 20 * time.Minute}
	var r forecast.Recurrence
	for second := int64(0); second < 3*1200; second += 5 {
		used := int64(20)
		if second%1200 < 50 { // two parts of 48, which are ten minutes in four hours
			used = 350
		}
		r.Add(clock.Part(second), used)
	}
	r.Finish(clock.Part(3*1200), 0)
	one := func(name string) strategies.Pod {
		p := pod(name, cluster.Amounts{20, 10})
		p.Pattern.Pattern = r.Pattern()
		return p
	}
	in := aheadInput(quietly("node-1", 100, one("a"), one("b")), cool("node-2", cluster.Amounts{100, 100}))
	in.Recurs, in.At = clock, midnight.Add(5*time.Minute)
	in.MinHotMinutesSaved = 20
	moves := New(in).Moves
	if len(moves) > 0 {
		t.Errorf("seen for an hour, in which the move would have saved %.1f minutes of the 20 that are asked for, it is made: %+v",
			moves[0].HotMinutesSaved/4, moves[0].Sentence(nil))
	}
}

// Nothing is moved ahead of time to a node that will be hot at the same hour, however little the
// move would prolong its heat.
func TestNoMoveAheadToWhatWillBeHotThen(t *testing.T) {
	source := func() Node { return quietly("node-1", 300, recurring("a", 10, 200), recurring("b", 10, 200)) } // 700 at ten
	for name, tc := range map[string]struct {
		nodes []Node
		want  []string
	}{
		"the only one": {[]Node{source(), full("node-2", 10, 640)}, nil}, // 740 at ten
		"the coolest":  {[]Node{source(), full("node-2", 10, 640), cool("node-3", cluster.Amounts{200, 100})}, []string{"a: node-1 -> node-3"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, movesOf(aheadInput(tc.nodes...))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A Job that runs for an hour of one night and does not recur must not move pods to another node
// and, when it runs there the next night, back.
func TestOneNightsWorkMovesNothingBackAndForth(t *testing.T) {
	runsOn := map[string]string{"a": "node-1", "b": "node-2", "web": "node-1"}
	uses := map[string]int64{"a": 250, "b": 250, "web": 200} // at ten
	var moved []string
	for _, batchOn := range []string{"node-1", "node-2"} { // one night after the other
		var nodes []Node
		for _, name := range []string{"node-1", "node-2"} {
			var pods []strategies.Pod
			for _, pod := range []string{"a", "b", "web"} {
				if runsOn[pod] == name {
					pods = append(pods, recurring(pod, 10, uses[pod]))
				}
			}
			if name == batchOn {
				pods = append(pods, pod("batch", cluster.Amounts{250, 10}, refused(reasons.JobPod)))
			}
			node := quietly(name, 100, pods...)
			if name == batchOn { // the Job will have ended
				node.Certain.Remove(forecast.Constant(250), forecast.PodPattern{})
			}
			nodes = append(nodes, node)
		}
		for _, m := range New(aheadInput(nodes...)).Moves {
			runsOn[m.Name], moved = m.To, append(moved, m.Name+": "+m.From+" -> "+m.To)
		}
	}
	if len(moved) > 0 {
		t.Errorf("%v, though no node is above 600 of 650 at ten before or after", moved)
	}
}

// A hot node whose pods no destination can accept does not keep other nodes from being relieved
// ahead of time if there is space for their pods.
func TestReliefAheadBesideACrowdedNode(t *testing.T) {
	nodes := []Node{
		within("full", hot("node-1", cluster.Amounts{450, 0}, pod("p", cluster.Amounts{150, 0}), pod("q", cluster.Amounts{150, 0}), pod("r", cluster.Amounts{150, 0}))),
		within("full", cool("node-2", cluster.Amounts{440, 0})),
		quietly("node-3", 100, recurring("a", 10, 350), recurring("b", 10, 350)), cool("node-4", cluster.Amounts{100, 100}),
	}
	if diff := cmp.Diff([]string{"a: node-3 -> node-4"}, movesOf(aheadInput(nodes...))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Even if no minimum saving is set, a move that saves nothing is not made.
func TestAMoveAheadSavesSomething(t *testing.T) {
	in := aheadInput(quietly("node-1", 100, recurring("big", 10, 600, refused(reasons.ProtectedByDefaultEvictor)), recurring("a", 10, 22), recurring("b", 10, 22)),
		cool("node-2", cluster.Amounts{100, 100}))
	in.MinHotMinutesSaved = 0
	for _, m := range New(in).Moves {
		if m.HotMinutesSaved < 0.5 {
			t.Errorf("%s", m.Sentence(nil))
		}
	}
}

// If all nodes are full at the same hour, small pods whose usage hardly varies stay where they are.
// Moving one would not make any node hot for longer, but would raise the peak of its destination.
func TestNoSmallPodMovesAmongNodesThatPeakTogether(t *testing.T) {
	var nodes []Node
	for _, name := range []string{"node-0", "node-1", "node-2", "node-3"} {
		nodes = append(nodes, quietly(name, 100,
			recurring(name+"-a", 10, 280, refused(reasons.DaemonSetPod)), recurring(name+"-b", 10, 280, refused(reasons.DaemonSetPod)),
			recurring(name+"-small", 3, 30)))
	}
	if diff := cmp.Diff([]string(nil), movesOf(aheadInput(nodes...))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
