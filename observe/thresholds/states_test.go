package thresholds

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

func at(second int) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(second) * time.Second)
}

const interval = 15 * time.Second

// median5m is the second of the shipped windows.
var median5m = usage.Window{Kind: usage.KindQuantile, Percentile: 50, Over: 5 * time.Minute}

// seen is one node's part of a view. It is sampled at the view's second unless again is set.
type seen struct {
	last, avg, predicted int64 // thousandths of CPU; predicted is at least the higher of the other two
	unknown              reasons.Reason
	notReady             bool
	again                bool // the source has nothing newer
	// sourceSpan is the time that the source itself observed for avg, and medianSpan the time for
	// the five-minute median, which equals avg.
	sourceSpan, medianSpan time.Duration
	pressure               float64 // the signal, over every window
}

// viewAt returns a view of one node.
func viewAt(now, sampled time.Time, s seen) *usage.View {
	predicted := cluster.Amounts{max(s.predicted, s.last, s.avg)}
	return &usage.View{
		At:       now,
		Windows:  []usage.Window{usage.Last, usage.Avg5m, median5m},
		Signals:  []usage.Metric{usage.CPUPressure},
		Snapshot: &cluster.Snapshot{Nodes: []*cluster.NodePods{{Node: cluster.Node{Name: "n", Allocatable: cluster.Amounts{1000, 1000}, Capacity: cluster.Amounts{1000, 1000}, Ready: !s.notReady}}}},
		Nodes: []usage.NodeUsage{{
			Unknown: s.unknown, Sampled: sampled,
			Current:    []cluster.Amounts{{s.last}, {s.avg}, {s.avg}},
			Predicted:  []cluster.Amounts{predicted, predicted, predicted},
			SourceSpan: []time.Duration{0, s.sourceSpan, s.medianSpan},
			Signals:    [][]float64{{s.pressure, s.pressure, s.pressure}},
		}},
	}
}

// timeline turns observations made every 15 s into views of one node.
func timeline(all []seen) []*usage.View {
	views := make([]*usage.View, len(all))
	var sampled time.Time
	for i, s := range all {
		now := at(15 * i)
		if !s.again {
			sampled = now
		}
		views[i] = viewAt(now, sampled, s)
	}
	return views
}

func level(v int64) seen { return seen{last: v, avg: v} }

// usual are the shipped lines of CPU.
var usual = Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}

// judge returns a function that resolves rules against a view.
func judge(t *testing.T, rules ...Rule) func(*usage.View) *Resolved {
	t.Helper()
	set, err := New([]Pool{{Name: "default", Rules: rules}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	return func(view *usage.View) *Resolved { return set.Resolve(view) }
}

func rulesOf(metric usage.Metric, windows ...usage.Window) []Rule {
	rules := make([]Rule, len(windows))
	for i, w := range windows {
		rules[i] = Rule{Metric: metric, Window: w, Levels: usual}
	}
	return rules
}

// statesOver classifies a sequence of views.
func statesOver(views []*usage.View, judge func(*usage.View) *Resolved, rule HotRule) []NodeState {
	got := make([]NodeState, len(views))
	var states map[string]NodeState
	for i, view := range views {
		states = judge(view).Classify(states, rule)
		got[i] = states["n"]
	}
	return got
}

func only[T any](states []NodeState, of func(NodeState) T) []T {
	all := make([]T, len(states))
	for i, state := range states {
		all[i] = of(state)
	}
	return all
}

func stateOf(s NodeState) State { return s.State }

// The cases follow a node's state over time. The lines are 45 and 60/65, and the five-minute mean
// must agree in three consecutive samples, unless a case sets something else.
func TestClassify(t *testing.T) {
	both := []usage.Window{usage.Last, usage.Avg5m}
	cases := map[string]struct {
		seen    []seen
		windows []usage.Window
		samples int
		want    []State
	}{
		"cool, warm and back": {
			seen: []seen{level(450), level(451), level(640), level(300)},
			want: []State{Cool, Warm, Warm, Cool},
		},
		"hot after three samples in a row": {
			seen: []seen{level(651), level(700), level(651), level(651)},
			want: []State{Warm, Warm, Hot, Hot},
		},
		"at the line is not above it": {
			seen: []seen{level(650), level(650), level(650), level(650)},
			want: []State{Warm, Warm, Warm, Warm},
		},
		"one sample below starts the count anew": {
			seen: []seen{level(700), level(700), level(640), level(700), level(700), level(700)},
			want: []State{Warm, Warm, Warm, Warm, Warm, Hot},
		},
		"hot until it is at the leave line": {
			seen: []seen{level(700), level(700), level(700), level(640), level(601), level(600)},
			want: []State{Warm, Warm, Hot, Hot, Hot, Warm},
		},
		"back above the leave line is not hot again": {
			seen: []seen{level(700), level(700), level(700), level(590), level(640), level(640)},
			want: []State{Warm, Warm, Hot, Warm, Warm, Warm},
		},
		"hot until it is at the leave line of every window": {
			seen:    []seen{level(700), {last: 590, avg: 700}, {last: 590, avg: 601}, {last: 601, avg: 590}, level(600)},
			windows: both, samples: 1,
			want: []State{Hot, Hot, Hot, Hot, Warm},
		},
		"windows must agree: a spike of the newest sample alone": {
			seen:    []seen{{last: 990, avg: 400}, {last: 990, avg: 500}, {last: 990, avg: 640}, {last: 990, avg: 660}, {last: 990, avg: 660}, {last: 990, avg: 660}},
			windows: both,
			want:    []State{Warm, Warm, Warm, Warm, Warm, Hot},
		},
		"windows must agree: the mean lags behind a node that has cooled": {
			seen:    []seen{{last: 300, avg: 700}, {last: 300, avg: 690}, {last: 300, avg: 680}},
			windows: both, samples: 1,
			want: []State{Warm, Warm, Warm},
		},
		"a source that repeats itself is one sample": {
			seen: []seen{level(700), {last: 700, avg: 700, again: true}, {last: 700, avg: 700, again: true}, level(700), {last: 700, avg: 700, again: true}, level(700)},
			want: []State{Warm, Warm, Warm, Warm, Warm, Hot},
		},
		"cool depends on the prediction, hot does not": {
			seen: []seen{{last: 300, avg: 300, predicted: 900}, {last: 300, avg: 300, predicted: 900}, {last: 300, avg: 300, predicted: 900}, level(300)},
			want: []State{Warm, Warm, Warm, Cool},
		},
		"unknown is neither, and forgets": {
			seen: []seen{level(700), level(700), {last: 700, avg: 700, unknown: reasons.UsageStale}, level(700), level(700), level(700)},
			want: []State{Warm, Warm, Unknown, Warm, Warm, Hot},
		},
		"readings of an unknown node are no evidence": {
			seen: []seen{
				{last: 700, avg: 700, unknown: reasons.UsageStale}, {last: 700, avg: 700, unknown: reasons.AllocatableUnknown},
				{last: 700, avg: 700, unknown: reasons.NoUsageSample}, {last: 700, avg: 700, unknown: reasons.UsageAbsurd},
				{last: 700, avg: 700, unknown: reasons.UsageFromTheFuture}, {last: 700, avg: 700, unknown: reasons.UsageContradictory}, level(700),
			},
			want: []State{Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, Warm},
		},
		"samples of a window that is too short count once it is long enough": {
			seen: []seen{{last: 700, avg: 700, unknown: reasons.WindowTooShort}, {last: 700, avg: 700, unknown: reasons.WindowTooShort}, level(700)},
			want: []State{Unknown, Unknown, Hot},
		},
		"a node that is not ready is unknown, and forgets": {
			seen: []seen{level(700), level(700), level(700), {last: 700, avg: 700, notReady: true}, level(700)},
			want: []State{Warm, Warm, Hot, Unknown, Warm},
		},
		"a window without readings has no effect": {
			seen:    []seen{level(990), level(990), level(990)},
			windows: []usage.Window{{Kind: usage.KindAvg, Over: time.Hour}},
			want:    []State{Cool, Cool, Cool},
		},
		"no number of samples is one sample": {
			seen: []seen{level(700)}, samples: -1,
			want: []State{Hot},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.windows == nil {
				tc.windows = []usage.Window{usage.Avg5m}
			}
			rule := HotRule{ConsecutiveSamples: 3, SampleInterval: interval}
			if tc.samples != 0 {
				rule.ConsecutiveSamples = tc.samples
			}
			got := statesOver(timeline(tc.seen), judge(t, rulesOf(usage.CPU, tc.windows...)...), rule)
			if diff := cmp.Diff(tc.want, only(got, stateOf)); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
		})
	}
}

// A state names the metric that was over its line in the newest sample. The name is empty if no
// metric was or the node is unknown.
func TestClassifyMetric(t *testing.T) {
	rules := append(rulesOf(usage.CPU, usage.Avg5m), Rule{
		Metric: usage.CPUPressure, Window: usage.Avg5m, Levels: Levels{Low: 10, Reject: 20, Evict: 30, Leave: 20}, Relieves: cluster.CPU,
	})
	waiting := func(s seen, pressure float64) seen {
		s.pressure = pressure
		return s
	}
	views := timeline([]seen{
		level(300), level(700), waiting(level(300), 40), waiting(level(700), 40), waiting(level(640), 25),
		waiting(seen{last: 700, avg: 700, unknown: reasons.WindowTooShort}, 0), waiting(seen{last: 700, avg: 700, unknown: reasons.UsageStale}, 40),
		{last: 700, avg: 700, notReady: true},
	})
	type told struct {
		State  State
		Metric usage.Metric
	}
	got := only(statesOver(views, judge(t, rules...), HotRule{ConsecutiveSamples: 2}), func(s NodeState) told { return told{s.State, s.Metric} })
	want := []told{
		{Cool, ""}, {Warm, usage.CPU}, {Hot, usage.CPUPressure}, {Hot, usage.CPU}, {Hot, ""},
		{Unknown, usage.CPU}, {Unknown, ""}, {Unknown, ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

// Since is when the state began, not when it was last confirmed.
func TestClassifySince(t *testing.T) {
	views := timeline([]seen{level(300), level(310), level(700), level(700), level(700)})
	states := statesOver(views, judge(t, rulesOf(usage.CPU, usage.Avg5m)...), HotRule{ConsecutiveSamples: 2})
	got := only(states, func(s NodeState) int { return int(s.Since.Sub(at(0)) / time.Second) })
	if diff := cmp.Diff([]int{0, 0, 30, 45, 45}, got); diff != "" {
		t.Errorf("seconds (-want +got):\n%s", diff)
	}
}

// Any resource above its line makes a node hot. A cool node must be at or below its line for every
// resource. A resource without lines has no effect, and neither does a node without any resource.
func TestClassifyByResource(t *testing.T) {
	cpu, memory := rulesOf(usage.CPU, usage.Avg5m), rulesOf(usage.Memory, usage.Avg5m)
	available := []Rule{{
		Metric: MemoryAvailable, Window: usage.Avg5m, LowerIsWorse: true, Levels: Levels{Low: 40, Reject: 25, Evict: 20, Leave: 25},
	}}
	cases := map[string]struct {
		used  cluster.Amounts
		rules []Rule
		want  State
	}{
		"memory alone is hot":             {cluster.Amounts{10, 660}, append(cpu, memory...), Hot},
		"memory alone keeps from cool":    {cluster.Amounts{10, 460}, append(cpu, memory...), Warm},
		"memory without lines":            {cluster.Amounts{10, 990}, cpu, Cool},
		"CPU is hot whatever memory is":   {cluster.Amounts{660, 990}, cpu, Hot},
		"19 % of the memory is available": {cluster.Amounts{10, 810}, append(cpu, available...), Hot},
		"20 % of the memory is available": {cluster.Amounts{10, 800}, append(cpu, available...), Warm},
		"40 % of the memory is available": {cluster.Amounts{10, 600}, append(cpu, available...), Cool},
		"no lines at all":                 {cluster.Amounts{990, 990}, nil, Cool},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			view := timeline([]seen{{}})[0]
			every := []cluster.Amounts{tc.used, tc.used, tc.used}
			view.Nodes[0].Current, view.Nodes[0].Predicted = every, every
			got := judge(t, tc.rules...)(view).Classify(nil, HotRule{ConsecutiveSamples: 1})["n"].State
			if got != tc.want {
				t.Errorf("state %q, want %q", got, tc.want)
			}
		})
	}
}

// A failed reading does not count as a sample: states stay as they are until
// the data behind them is too old.
func TestKeep(t *testing.T) {
	before := map[string]NodeState{"n": {State: Hot, Since: at(0), Over: 3, Metric: usage.CPU}}
	ready := func(s seen) *usage.View { return timeline([]seen{{}, s})[1] }
	cases := map[string]struct {
		before map[string]NodeState
		view   *usage.View
		want   NodeState
	}{
		"as it was": {
			before: before, view: ready(level(100)),
			want: NodeState{State: Hot, Since: at(0), Over: 3, Metric: usage.CPU},
		},
		"too old": {
			before: before, view: ready(seen{unknown: reasons.UsageStale}),
			want: NodeState{State: Unknown, Since: at(15), Unknown: reasons.UsageStale},
		},
		"no longer ready": {
			before: before, view: ready(seen{notReady: true}),
			want: NodeState{State: Unknown, Since: at(15), Unknown: reasons.NodeNotReady},
		},
		"still unknown, for another reason": {
			before: map[string]NodeState{"n": {State: Unknown, Since: at(0), Unknown: reasons.WindowTooShort}},
			view:   ready(seen{unknown: reasons.UsageStale}),
			want:   NodeState{State: Unknown, Since: at(0), Unknown: reasons.UsageStale},
		},
		"a node that came meanwhile": {
			view: ready(level(100)),
			want: NodeState{State: Unknown, Since: at(15), Unknown: reasons.NoUsageSample},
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

// Nodes that are gone are forgotten, so memory is bounded by the cluster's
// size.
func TestClassifyForgetsNodes(t *testing.T) {
	before := map[string]NodeState{"gone": {State: Hot}, "n": {State: Cool}}
	view := timeline([]seen{level(100)})[0]
	if got := judge(t)(view).Classify(before, HotRule{}); len(got) != 1 {
		t.Errorf("%d states, want 1", len(got))
	}
	if got := Keep(before, view); len(got) != 1 {
		t.Errorf("%d states kept, want 1", len(got))
	}
}
