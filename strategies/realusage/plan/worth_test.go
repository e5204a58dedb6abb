package plan

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// was returns the expected usage of a pod that used before for a day, and has used now for the
// given number of minutes since.
func was(before, now int64, minutes uint32) forecast.Expected {
	var t forecast.Trend
	second := uint32(0)
	for ; second <= 24*3600; second += 60 {
		t.Add(1+second, before)
	}
	for end := second + 60*minutes; second < end; second += 60 {
		t.Add(1+second, now)
	}
	return t.Expect()
}

// asOf sets the expected usage of pods to their past usage.
func asOf(nodes []Node, expected map[string]forecast.Expected) []Node {
	for i := range nodes {
		n := &nodes[i]
		n.ByCPU = len(n.Pods) > 0
		for k := range n.Pods {
			pod := &n.Pods[k]
			if e, ok := expected[pod.Name]; ok {
				pod.Expected = e
				n.Load.Shift(-pod.Usage[cluster.CPU])
				n.Load.Add(e)
			}
		}
	}
	return nodes
}

func TestMovesHaveToBeWorthIt(t *testing.T) {
	nodes := func(expected map[string]forecast.Expected) []Node {
		return asOf(shipped().on([]Node{
			cool("node-1", cluster.Amounts{200, 100}),
			hot("node-2", cluster.Amounts{300, 100}, pod("a", cluster.Amounts{250, 10}), pod("b", cluster.Amounts{150, 10})),
		}), expected)
	}
	for name, tc := range map[string]struct {
		expected map[string]forecast.Expected
		minutes  float64 // the required minimum saving
		cost     int     // of the pod a, in quarters
		moved    []string
		note     reasons.Reason
	}{
		"a level that lasts": {minutes: 10, moved: []string{"a"}},
		"a peak of minutes, now and then": {
			expected: map[string]forecast.Expected{"a": was(20, 250, 5)}, minutes: 10, note: reasons.NotWorthwhile,
		},
		"the same, whatever it is worth":             {expected: map[string]forecast.Expected{"a": was(20, 250, 5)}, moved: []string{"b"}},
		"a level that lasts, for more than it saves": {minutes: 300, note: reasons.NotWorthwhile},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Nodes: nodes(tc.expected), Placement: anywhere{}, MinHotMinutesSaved: tc.minutes}
			got := New(in)
			var moved []string
			for _, m := range got.Moves {
				moved = append(moved, m.Name)
				if tc.minutes > 0 && m.HotMinutesSaved < tc.minutes {
					t.Errorf("the move of %s saves %v minutes, and is made for %v", m.Name, m.HotMinutesSaved, tc.minutes)
				}
			}
			if diff := cmp.Diff(tc.moved, moved); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
			if note := got.Nodes[1].Reason; note != tc.note {
				t.Errorf("the node is left hot for %q, want %q", note, tc.note)
			}
			if tc.note != "" && (len(got.Declined) == 0 || got.Declined[0].Reason != tc.note || got.Declined[0].Detail == "") {
				t.Errorf("declined: %+v", got.Declined)
			}
		})
	}
}

// Of pods with the same current usage, the one that will keep it leaves first.
func TestPodsWhoseUsageLastsGoFirst(t *testing.T) {
	for _, lasts := range []string{"a", "b"} {
		peaks := map[string]string{"a": "b", "b": "a"}[lasts]
		got := New(Input{
			Nodes: asOf(shipped().on([]Node{
				cool("node-1", cluster.Amounts{200, 100}),
				hot("node-2", cluster.Amounts{500, 100}, pod("a", cluster.Amounts{150, 10}), pod("b", cluster.Amounts{150, 10})),
			}), map[string]forecast.Expected{peaks: was(20, 150, 20)}),
			Placement: anywhere{}, MinHotMinutesSaved: 10,
		})
		if len(got.Moves) != 1 || got.Moves[0].Name != lasts {
			t.Errorf("want %s moved: %+v", lasts, got.Moves)
		}
	}
}

// A pod that is more expensive must save more.
func TestDisruptionHasAPrice(t *testing.T) {
	plan := func(quarters int) strategies.Plan {
		return New(Input{
			Nodes: asOf(shipped().on([]Node{
				cool("node-1", cluster.Amounts{200, 100}),
				hot("node-2", cluster.Amounts{500, 100}, pod("a", cluster.Amounts{250, 10}, costing(quarters))),
			}), nil), Placement: anywhere{}, MinHotMinutesSaved: 150,
		})
	}
	if got := plan(strategies.PlainQuarters); len(got.Moves) != 1 {
		t.Errorf("a plain pod is not moved: %+v", got.Declined)
	}
	if got := plan(3 * strategies.PlainQuarters); len(got.Moves) != 0 {
		t.Errorf("a pod of three times the cost is moved for %v minutes", got.Moves[0].HotMinutesSaved)
	}
}

// Small pods count by their usage, however many there are, but together at least as much as the
// most expensive one.
func TestSmallPodsCountTogether(t *testing.T) {
	for name, tc := range map[string]struct {
		pods     int
		used     int64 // of each pod, on a node of 1000
		quarters int
		want     float64 // in plain pods
	}{
		"one":                           {1, 200, 4, 1},
		"two":                           {2, 50, 4, 2},
		"a small one":                   {1, 25, 4, 1},
		"a small one that is dear":      {1, 25, 12, 3},
		"one that uses nothing":         {1, 0, 5, 1.25},
		"one that uses less than that":  {1, -50, 4, 1},
		"two small ones":                {2, 20, 4, 1},
		"many small ones":               {40, 5, 4, 4},
		"many small ones that are dear": {40, 5, 12, 12},
	} {
		t.Run(name, func(t *testing.T) {
			n := shipped().on([]Node{hot("node-1", cluster.Amounts{500, 100})})[0]
			var landed []landing
			for i := range tc.pods {
				p := pod(fmt.Sprint("pod-", i), cluster.Amounts{tc.used, 10}, costing(tc.quarters))
				landed = append(landed, landing{pod: &p})
			}
			if got := asked(&n, landed); math.Abs(got-tc.want) > 1e-9 {
				t.Errorf("asked for as much as %v plain pods, want %v", got, tc.want)
			}
		})
	}
}

// Whether a node stays hot by memory or by a signal cannot be derived from CPU usage.
func TestOnlyHeatByCPUHasToLast(t *testing.T) {
	nodes := shipped().on([]Node{
		cool("node-1", cluster.Amounts{100, 100}),
		hot("node-2", cluster.Amounts{100, 500}, pod("a", cluster.Amounts{10, 300})),
	})
	got := New(Input{Nodes: nodes, Placement: anywhere{}, MinHotMinutesSaved: 60})
	if len(got.Moves) != 1 || got.Moves[0].HotMinutesSaved != 0 {
		t.Errorf("moves: %+v, declined: %+v", got.Moves, got.Declined)
	}
}

// A move saves the difference between the expected hot minutes of all nodes before and after it.
func TestSavedIsTheDifference(t *testing.T) {
	nodes := asOf(shipped().on([]Node{
		cool("node-1", cluster.Amounts{400, 100}),
		cool("node-2", cluster.Amounts{420, 100}),
		hot("node-3", cluster.Amounts{500, 100}, pod("a", cluster.Amounts{150, 10}), pod("b", cluster.Amounts{150, 10}), pod("c", cluster.Amounts{90, 10})),
	}), map[string]forecast.Expected{"a": was(60, 150, 10), "b": was(120, 150, 30)})
	total := func(loads map[string]forecast.Load) (minutes float64) {
		for i := range nodes {
			load := loads[nodes[i].Name]
			minutes += nodes[i].hotMinutes(&load)
		}
		return minutes
	}
	loads := map[string]forecast.Load{}
	for i := range nodes {
		loads[nodes[i].Name] = nodes[i].Load
	}
	before := total(loads)
	plan := New(Input{Nodes: nodes, Placement: anywhere{}, MinHotMinutesSaved: 1})
	if len(plan.Moves) < 2 {
		t.Fatalf("%d moves: %+v", len(plan.Moves), plan.Declined)
	}
	saved := 0.0
	for _, m := range plan.Moves {
		from, to := loads[m.From], loads[m.To]
		from.Remove(m.Expected)
		to.Add(m.Expected)
		loads[m.From], loads[m.To] = from, to
		saved += m.HotMinutesSaved
	}
	if diff := saved - (before - total(loads)); diff > 1e-6 || diff < -1e-6 {
		t.Errorf("saved %v, the nodes are hot for %v less", saved, before-total(loads))
	}
}
