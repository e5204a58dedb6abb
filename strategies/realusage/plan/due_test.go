package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/reasons"
)

// If a node is also hot by a metric other than CPU usage, the usage that has to leave because of
// that metric leaves whatever the CPU usage. Further moves because of CPU usage must be worthwhile,
// as on any other node.
func TestPeaksOfCPUMoveNothingThatIsNotDue(t *testing.T) {
	peak, lasting := was(5, 30, 5), forecast.Constant(30)
	for name, tc := range map[string]struct {
		memory   int64 // of each of 30 pods that use 30 of CPU
		expected forecast.Expected
		signals  int64 // CPU that has to leave because of signals
		minutes  float64
		moved    int
		note     reasons.Reason
	}{
		"a peak, memory just above its line":            {memory: 22, expected: peak, minutes: 10, moved: 1, note: reasons.NotWorthwhile},
		"a peak, memory far above its line":             {memory: 25, expected: peak, minutes: 10, moved: 4, note: reasons.NotWorthwhile},
		"the same at any worth":                         {memory: 22, expected: peak, moved: 9},
		"it lasts, memory just above its line":          {memory: 22, expected: lasting, minutes: 10, moved: 9},
		"a peak, memory needs more than CPU":            {memory: 31, expected: peak, minutes: 10, moved: 10},
		"it lasts, memory needs more than CPU":          {memory: 31, expected: lasting, minutes: 10, moved: 10},
		"a peak next to contention":                     {expected: peak, signals: 50, minutes: 10, moved: 2, note: reasons.NotWorthwhile},
		"it lasts next to contention":                   {expected: lasting, signals: 50, minutes: 10, moved: 9},
		"contention that needs more than CPU":           {expected: peak, signals: 250, minutes: 10, moved: 9},
		"a peak next to a signal that no move relieves": {expected: peak, minutes: 10, note: reasons.NotWorthwhile},
		"a signal that has no CPU to leave":             {expected: peak, signals: -50, minutes: 10, note: reasons.NotWorthwhile},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := shipped().on([]Node{
				cool("node-1", cluster.Amounts{100, 100}), cool("node-2", cluster.Amounts{100, 100}),
				hot("node-3", cluster.Amounts{0, 0}, pods(30, "pod-", cluster.Amounts{30, tc.memory})...),
			})
			n := &nodes[2]
			n.OverOther, n.NeedForSignals, n.Load = true, tc.signals, forecast.Load{}
			if n.Need[cluster.CPU] = max(n.Need[cluster.CPU], tc.signals); n.Need[cluster.Memory] <= 0 {
				n.Need[cluster.Memory] = 0
			}
			for k := range n.Pods {
				n.Pods[k].Expected = tc.expected
				n.Load.Add(tc.expected)
			}
			got := New(Input{Nodes: nodes, Placement: anywhere{}, MinHotMinutesSaved: tc.minutes})
			moved := map[string]int{}
			for _, m := range got.Moves {
				moved[m.Name]++
			}
			if len(got.Moves) != tc.moved || len(moved) != tc.moved || got.Nodes[2].Reason != tc.note {
				t.Errorf("%d moves of %d pods, want %d; the node stays hot for %q, want %q", len(got.Moves), len(moved), tc.moved, got.Nodes[2].Reason, tc.note)
			}
			spared := 0
			for _, d := range got.Declined {
				if moved[d.Name]++; moved[d.Name] > 1 {
					t.Errorf("%s is moved or declined twice: %s", d.Name, d.Reason)
				}
				if d.Reason == reasons.NotWorthwhile {
					spared++
				}
			}
			if (spared > 0) != (tc.note != "") {
				t.Errorf("%d pods are declined as not worthwhile", spared)
			}
		})
	}
}

// The saving of a pod that leaves its node because of memory does not count in favor of pods that
// would leave it only because of CPU.
func TestDueMovesDoNotPayForOthers(t *testing.T) {
	nodes := asOf(shipped().on([]Node{
		cool("node-1", cluster.Amounts{100, 100}),
		hot("node-2", cluster.Amounts{300, 200}, pod("large", cluster.Amounts{300, 460}), pod("peak", cluster.Amounts{100, 10})),
	}), map[string]forecast.Expected{"peak": was(20, 100, 5)})
	nodes[1].ByCPU, nodes[1].OverOther = false, true
	for name, tc := range map[string]struct {
		need int64
		want []string
	}{
		"both are needed":        {need: 350, want: []string{"large"}},
		"the large one suffices": {need: 50, want: []string{"large"}},
	} {
		t.Run(name, func(t *testing.T) {
			nodes[1].Need[cluster.CPU] = tc.need
			var moved []string
			for _, m := range New(Input{Nodes: nodes, Placement: anywhere{}, MinHotMinutesSaved: 10}).Moves {
				moved = append(moved, m.Name)
			}
			if diff := cmp.Diff(tc.want, moved); diff != "" {
				t.Errorf("moved (-want +got):\n%s", diff)
			}
		})
	}
}

// Usage that has to leave because of another metric leaves even if the node's CPU stays above the
// line, because pods must not be moved or there is no space for them. High CPU usage therefore does
// not keep memory above its line.
func TestWhatIsDueLeavesThoughCPUStays(t *testing.T) {
	full := func() []Node {
		return []Node{hot("full-1", cluster.Amounts{990, 10}), hot("full-2", cluster.Amounts{990, 10})}
	}
	large, small := pods(10, "p", cluster.Amounts{95, 70}), pods(10, "p", cluster.Amounts{10, 70})
	for name, tc := range map[string]struct {
		nodes []Node
		due   int64 // CPU that must leave because of signals
		moved int
		note  reasons.Reason
	}{
		"no space for its CPU":               {nodes: []Node{cool("c", cluster.Amounts{400, 100}), hot("both", cluster.Amounts{}, large...)}, moved: 1, note: reasons.NoLanding},
		"no space where CPU is short":        {nodes: append(full(), cool("c", cluster.Amounts{400, 100}), hot("both", cluster.Amounts{}, large...)), moved: 1, note: reasons.NoLanding},
		"most of its CPU must stay":          {nodes: []Node{cool("c", cluster.Amounts{100, 100}), hot("both", cluster.Amounts{800}, small...)}, moved: 1, note: reasons.HotThroughImmovable},
		"space for both":                     {nodes: []Node{cool("c", cluster.Amounts{100, 100}), hot("both", cluster.Amounts{}, pods(10, "p", cluster.Amounts{70, 70})...)}, moved: 1},
		"space for neither":                  {nodes: []Node{cool("c", cluster.Amounts{590, 100}), hot("both", cluster.Amounts{}, large...)}, note: reasons.NoLanding},
		"a signal that CPU relieves as well": {nodes: []Node{cool("c", cluster.Amounts{400, 100}), hot("both", cluster.Amounts{}, pods(10, "p", cluster.Amounts{95, 1})...)}, due: 150, moved: 2, note: reasons.NoLanding},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := shipped().on(tc.nodes)
			both := &nodes[len(nodes)-1]
			both.OverOther, both.NeedForSignals, both.Load = true, tc.due, forecast.Load{}
			for k := range both.Pods {
				both.Load.Add(both.Pods[k].Expected)
			}
			got := New(Input{Nodes: nodes, Placement: &refusing{}, MinHotMinutesSaved: 10})
			if note := got.Nodes[len(nodes)-1].Reason; len(got.Moves) != tc.moved || note != tc.note {
				t.Errorf("%d moves, want %d; the node stays hot for %q, want %q", len(got.Moves), tc.moved, note, tc.note)
			}
			for _, m := range got.Moves {
				if m.From != "both" {
					t.Errorf("%s leaves %s", m.Name, m.From)
				}
				for _, d := range got.Declined {
					if d.Name == m.Name && d.Node == m.From {
						t.Errorf("%s is moved and declined: %s", m.Name, d.Reason)
					}
				}
			}
		})
	}
}
