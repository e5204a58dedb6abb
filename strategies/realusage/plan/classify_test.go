package plan

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
)

func at(second int) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(second) * time.Second)
}

// seen is one node's part of a view, sampled at the view's second unless said otherwise.
type seen struct {
	last, avg, predicted int64 // thousandths of CPU; predicted is at least the higher of the two
	unknown              usage.Unknown
	notReady             bool
	again                bool // the source had nothing newer
}

// timeline turns what was seen every 15 s into views of one node.
func timeline(all []seen) []*usage.View {
	views := make([]*usage.View, len(all))
	var sampled time.Time
	for i, s := range all {
		now := at(15 * i)
		if !s.again {
			sampled = now
		}
		current := usage.WindowAmounts{usage.Last: {s.last}, usage.Avg5m: {s.avg}}
		predicted := usage.Every(cluster.Amounts{max(s.predicted, s.last, s.avg)})
		views[i] = &usage.View{
			At:       now,
			Snapshot: &cluster.Snapshot{Nodes: []*cluster.NodePods{{Node: cluster.Node{Name: "n", Allocatable: thousand, Ready: !s.notReady}}}},
			Nodes:    []usage.NodeUsage{{Unknown: s.unknown, Sampled: sampled, Current: current, Predicted: predicted}},
		}
	}
	return views
}

func steady(v int64) seen { return seen{last: v, avg: v} }

// A node's state over time: lines 45 and 60/65, three samples in a row, unless a case says otherwise.
func TestClassify(t *testing.T) {
	cases := map[string]struct {
		seen []seen
		rule HotRule
		want []State
	}{
		"cool, warm and back": {
			seen: []seen{steady(450), steady(451), steady(640), steady(300)},
			want: []State{Cool, Warm, Warm, Cool},
		},
		"hot after three samples in a row": {
			seen: []seen{steady(651), steady(700), steady(651), steady(651)},
			want: []State{Warm, Warm, Hot, Hot},
		},
		"at the line is not above it": {
			seen: []seen{steady(650), steady(650), steady(650), steady(650)},
			want: []State{Warm, Warm, Warm, Warm},
		},
		"one sample below starts the count anew": {
			seen: []seen{steady(700), steady(700), steady(640), steady(700), steady(700), steady(700)},
			want: []State{Warm, Warm, Warm, Warm, Warm, Hot},
		},
		"hot until it is at the leave line": {
			seen: []seen{steady(700), steady(700), steady(700), steady(640), steady(601), steady(600)},
			want: []State{Warm, Warm, Hot, Hot, Hot, Warm},
		},
		"back above the leave line is not hot again": {
			seen: []seen{steady(700), steady(700), steady(700), steady(590), steady(640), steady(640)},
			want: []State{Warm, Warm, Hot, Warm, Warm, Warm},
		},
		"windows must agree: a spike of the newest sample alone": {
			seen: []seen{{last: 990, avg: 400}, {last: 990, avg: 500}, {last: 990, avg: 640}, {last: 990, avg: 660}, {last: 990, avg: 660}, {last: 990, avg: 660}},
			rule: HotRule{Windows: []usage.Window{usage.Last, usage.Avg5m}, ConsecutiveSamples: 3},
			want: []State{Warm, Warm, Warm, Warm, Warm, Hot},
		},
		"windows must agree: the mean lags behind a node that has cooled": {
			seen: []seen{{last: 300, avg: 700}, {last: 300, avg: 690}, {last: 300, avg: 680}},
			rule: HotRule{Windows: []usage.Window{usage.Last, usage.Avg5m}, ConsecutiveSamples: 1},
			want: []State{Warm, Warm, Warm},
		},
		"a source that repeats itself is one sample": {
			seen: []seen{steady(700), {last: 700, avg: 700, again: true}, {last: 700, avg: 700, again: true}, steady(700), {last: 700, avg: 700, again: true}, steady(700)},
			want: []State{Warm, Warm, Warm, Warm, Warm, Hot},
		},
		"cool takes what is predicted into account, hot does not": {
			seen: []seen{{last: 300, avg: 300, predicted: 900}, {last: 300, avg: 300, predicted: 900}, {last: 300, avg: 300, predicted: 900}, steady(300)},
			want: []State{Warm, Warm, Warm, Cool},
		},
		"unknown is neither, and forgets": {
			seen: []seen{steady(700), steady(700), {last: 700, avg: 700, unknown: usage.StaleSample}, steady(700), steady(700), steady(700)},
			want: []State{Warm, Warm, Unknown, Warm, Warm, Hot},
		},
		"what is read of an unknown node is no evidence": {
			seen: []seen{
				{last: 700, avg: 700, unknown: usage.StaleSample}, {last: 700, avg: 700, unknown: usage.NoAllocatable},
				{last: 700, avg: 700, unknown: usage.NoSample}, steady(700),
			},
			want: []State{Unknown, Unknown, Unknown, Warm},
		},
		"samples of a window too short count once it is long enough": {
			seen: []seen{{last: 700, avg: 700, unknown: usage.ShortWindow}, {last: 700, avg: 700, unknown: usage.ShortWindow}, steady(700)},
			want: []State{Unknown, Unknown, Hot},
		},
		"a node that is not ready is unknown, and forgets": {
			seen: []seen{steady(700), steady(700), steady(700), {last: 700, avg: 700, notReady: true}, steady(700)},
			want: []State{Warm, Warm, Hot, Unknown, Warm},
		},
		"without a window nothing is said": {
			seen: []seen{steady(0), steady(990)},
			rule: HotRule{ConsecutiveSamples: 1},
			want: []State{Warm, Warm},
		},
		"no number of samples is one sample": {
			seen: []seen{steady(700)},
			rule: HotRule{Windows: []usage.Window{usage.Avg5m}},
			want: []State{Hot},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rule := tc.rule
			if rule.Windows == nil && rule.ConsecutiveSamples == 0 {
				rule = HotRule{Windows: []usage.Window{usage.Avg5m}, ConsecutiveSamples: 3}
			}
			var got []State
			var states map[string]NodeState
			for _, view := range timeline(tc.seen) {
				states = Classify(states, view, testLines(), rule)
				got = append(got, states["n"].State)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
		})
	}
}

// Since is when the state began, not when it was last confirmed.
func TestClassifySince(t *testing.T) {
	rule := HotRule{Windows: []usage.Window{usage.Avg5m}, ConsecutiveSamples: 2}
	var states map[string]NodeState
	var got []int
	for _, view := range timeline([]seen{steady(300), steady(310), steady(700), steady(700), steady(700)}) {
		states = Classify(states, view, testLines(), rule)
		got = append(got, int(states["n"].Since.Sub(at(0))/time.Second))
	}
	if diff := cmp.Diff([]int{0, 0, 30, 45, 45}, got); diff != "" {
		t.Errorf("seconds (-want +got):\n%s", diff)
	}
}

// Any resource above its line makes hot; every resource has to be at or below its line for cool. A resource without lines
// says nothing.
func TestClassifyByResource(t *testing.T) {
	inf := math.Inf(1)
	cpuOnly := Lines{
		Low: cluster.Percents{45, inf}, Reject: cluster.Percents{60, inf}, Evict: cluster.Percents{65, inf}, Leave: cluster.Percents{60, inf},
	}
	cases := map[string]struct {
		used  cluster.Amounts
		lines Lines
		want  State
	}{
		"memory alone is hot":           {cluster.Amounts{10, 660}, testLines(), Hot},
		"memory alone keeps from cool":  {cluster.Amounts{10, 460}, testLines(), Warm},
		"memory without lines":          {cluster.Amounts{10, 990}, cpuOnly, Cool},
		"CPU is hot whatever memory is": {cluster.Amounts{660, 990}, cpuOnly, Hot},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			view := timeline([]seen{{}})[0]
			view.Nodes[0].Current, view.Nodes[0].Predicted = usage.Every(tc.used), usage.Every(tc.used)
			got := Classify(nil, view, tc.lines, HotRule{Windows: []usage.Window{usage.Avg5m}, ConsecutiveSamples: 1})["n"].State
			if got != tc.want {
				t.Errorf("state %q, want %q", got, tc.want)
			}
		})
	}
}

// A reading that failed counts no sample: states stay as they are until what they rest on is too old.
func TestKeep(t *testing.T) {
	before := map[string]NodeState{"n": {State: Hot, Since: at(0), Over: 3}}
	ready := func(s seen) *usage.View { return timeline([]seen{{}, s})[1] }
	cases := map[string]struct {
		before map[string]NodeState
		view   *usage.View
		want   NodeState
	}{
		"as it was": {
			before: before, view: ready(steady(100)),
			want: NodeState{State: Hot, Since: at(0), Over: 3},
		},
		"too old": {
			before: before, view: ready(seen{unknown: usage.StaleSample}),
			want: NodeState{State: Unknown, Since: at(15), Unknown: usage.StaleSample},
		},
		"not ready any more": {
			before: before, view: ready(seen{notReady: true}),
			want: NodeState{State: Unknown, Since: at(15), Unknown: NotReady},
		},
		"still unknown, for another reason": {
			before: map[string]NodeState{"n": {State: Unknown, Since: at(0), Unknown: usage.ShortWindow}},
			view:   ready(seen{unknown: usage.StaleSample}),
			want:   NodeState{State: Unknown, Since: at(0), Unknown: usage.StaleSample},
		},
		"a node that came meanwhile": {
			view: ready(steady(100)),
			want: NodeState{State: Unknown, Since: at(15), Unknown: usage.NoSample},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Keep(tc.before, tc.view)["n"]); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

// Nodes that are gone are forgotten, so the memory is bounded by the cluster.
func TestClassifyForgetsNodes(t *testing.T) {
	before := map[string]NodeState{"gone": {State: Hot}, "n": {State: Cool}}
	view := timeline([]seen{steady(100)})[0]
	if got := Classify(before, view, testLines(), HotRule{}); len(got) != 1 {
		t.Errorf("%d states, want 1", len(got))
	}
	if got := Keep(before, view); len(got) != 1 {
		t.Errorf("%d states kept, want 1", len(got))
	}
}
