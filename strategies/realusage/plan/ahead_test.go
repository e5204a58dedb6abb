package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

var (
	daily    = forecast.Clock{Period: 24 * time.Hour}
	midnight = time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
)

// bursting returns the pattern of a pod that has used most for two hours of each day, starting at
// hour, and 20 otherwise, for three days.
func bursting(hour int64, most int64) *forecast.Pattern {
	var r forecast.Recurrence
	for second := int64(0); second < 3*86400; second += 300 {
		used := int64(20)
		if of := second%86400 - 3600*hour; of >= 0 && of < 7200 {
			used = most
		}
		r.Add(daily.Part(second), used)
	}
	r.Finish(daily.Part(3*86400), 0)
	return r.Pattern()
}

func recurring(name string, hour, most int64, change ...func(*strategies.Pod)) strategies.Pod {
	p := pod(name, cluster.Amounts{20, 10}, change...)
	p.Pattern.Pattern = bursting(hour, most)
	return p
}

func now(milliCores int64) func(*strategies.Pod) {
	return func(p *strategies.Pod) { p.Usage[cluster.CPU] = milliCores }
}

// quietly returns a node that is not hot, with these pods and additional usage.
func quietly(name string, besides int64, pods ...strategies.Pod) Node {
	n := Node{Name: name, Allocatable: thousand, State: thresholds.Cool, Course: new(forecast.Course)}
	n.Course.Shift(besides)
	n.Predicted[cluster.CPU] = besides
	for _, pod := range pods {
		pod.Pod = &cluster.Pod{UID: "uid-" + pod.Name, Namespace: "ns", Name: pod.Name, Node: name}
		pod.Expected = forecast.Constant(pod.Usage[cluster.CPU])
		n.Pods = append(n.Pods, pod)
		n.Predicted = n.Predicted.Plus(pod.Usage)
		n.Course.Add(pod.Expected, pod.Pattern)
	}
	n.Certain = new(*n.Course)
	return n
}

// full returns a cool node that is filled by recurring usage, starting at an hour.
func full(name string, hour, most int64) Node {
	n := quietly(name, 100, recurring(name+"-own", hour, most))
	n.Pods = nil
	return n
}

func TestMoveAhead(t *testing.T) {
	two := func() Node { return quietly("node-1", 100, recurring("a", 10, 350), recurring("b", 10, 350)) }
	for name, tc := range map[string]struct {
		nodes []Node
		max   int
		moved []string
	}{
		"two simultaneous bursts":                     {[]Node{two(), cool("node-2", cluster.Amounts{100, 100})}, 0, []string{"a: node-1 -> node-2"}},
		"the other node is full at that time":         {[]Node{two(), full("node-2", 10, 500)}, 0, nil},
		"the other node is full at another time":      {[]Node{two(), full("node-2", 16, 500)}, 0, []string{"a: node-1 -> node-2"}},
		"the coolest node is full at that time":       {[]Node{two(), full("node-2", 10, 500), cool("node-3", cluster.Amounts{200, 100})}, 0, []string{"a: node-1 -> node-3"}},
		"all peak together":                           {[]Node{two(), quietly("node-2", 100, recurring("c", 10, 350), recurring("d", 10, 350))}, 0, nil},
		"at different times":                          {[]Node{quietly("node-1", 100, recurring("a", 10, 350), recurring("b", 14, 350)), cool("node-2", cluster.Amounts{100, 100})}, 0, nil},
		"nothing is moved during the burst":           {[]Node{quietly("node-1", 100, recurring("a", 10, 350, now(350)), recurring("b", 10, 350, now(150))), cool("node-2", cluster.Amounts{100, 100})}, 0, nil},
		"only pods that may be moved are":             {[]Node{quietly("node-1", 100, recurring("a", 10, 350, refused(reasons.DaemonSetPod)), recurring("b", 10, 350)), cool("node-2", cluster.Amounts{100, 100})}, 0, []string{"b: node-1 -> node-2"}},
		"the moves cost too much":                     {[]Node{quietly("node-1", 100, recurring("a", 10, 350, costing(1000)), recurring("b", 10, 350, costing(1000))), cool("node-2", cluster.Amounts{100, 100})}, 0, nil},
		"nodes that are hot now come first":           {[]Node{two(), cool("node-2", cluster.Amounts{100, 100}), hot("node-3", cluster.Amounts{500, 100}, pod("x", cluster.Amounts{250, 10}))}, 1, []string{"x: node-3 -> node-2"}},
		"as many as a plan may have":                  {[]Node{quietly("node-1", 100, recurring("a", 10, 350), recurring("b", 10, 350), recurring("c", 10, 350)), cool("node-2", cluster.Amounts{0, 0}), cool("node-3", cluster.Amounts{0, 0})}, 1, []string{"a: node-1 -> node-2"}},
		"several off one node, each to where it fits": {[]Node{quietly("node-1", 100, recurring("a", 10, 500), recurring("b", 10, 500), recurring("c", 10, 500)), cool("node-2", cluster.Amounts{0, 0}), cool("node-3", cluster.Amounts{0, 0})}, 0, []string{"a: node-1 -> node-2", "b: node-1 -> node-3"}},
		"within the domain":                           {[]Node{within("zone a", two()), within("zone b", cool("node-2", cluster.Amounts{100, 100}))}, 0, nil},
		"in its own zone first":                       {[]Node{inZone("a", two()), inZone("b", cool("node-2", cluster.Amounts{50, 50})), inZone("a", cool("node-3", cluster.Amounts{100, 100}))}, 0, []string{"a: node-1 -> node-3"}},
		"in another zone if there is no room":         {[]Node{inZone("a", two()), inZone("b", cool("node-2", cluster.Amounts{50, 50})), inZone("a", full("node-3", 10, 500))}, 0, []string{"a: node-1 -> node-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{
				Nodes: shipped().on(tc.nodes), Placement: &refusing{}, MinHotMinutesSaved: 10, Recurs: daily, At: midnight, MaxMoves: tc.max,
			}
			got := New(in)
			var moved []string
			for _, line := range described(got) {
				if strings.Contains(line, "->") {
					moved = append(moved, line)
				}
			}
			if diff := cmp.Diff(tc.moved, moved); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A move ahead of time states what is expected, when, and how much it saves.
func TestAheadExplainsMoves(t *testing.T) {
	in := Input{
		Nodes: shipped().on([]Node{
			quietly("node-1", 100, recurring("a", 10, 350), recurring("b", 10, 350)), cool("node-2", cluster.Amounts{100, 100}),
		}),
		Placement: &refusing{}, MinHotMinutesSaved: 10, Recurs: daily, At: midnight,
	}
	moves := New(in).Moves
	if len(moves) != 1 {
		t.Fatalf("%d moves", len(moves))
	}
	m := moves[0]
	want := "Node node-1 is expected to be hot for 120 minutes of each 24h, next at 10:00 UTC with 80.0% of its CPU. Pod uses 20m cpu, 0Mi memory, and then more. " +
		"Planned destination: node-2. Expected to save 120 hot minutes in each 24h."
	if diff := cmp.Diff(want, m.Sentence(nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if m.Reason != reasons.NodeHotAhead {
		t.Errorf("it is moved for %s", m.Reason)
	}
}
