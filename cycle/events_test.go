package cycle

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// The cases show when a cycle starts, in seconds, and why.
func TestBegins(t *testing.T) {
	hot := Event{NodeHot, "n1"}
	const never = -1
	for name, tc := range map[string]struct {
		due, last, settle int
		event             Event
		want              int
		why               Cause
	}{
		"no event":                          {300, 0, 60, Event{}, 300, Scheduled},
		"an event, long after a cycle":      {300, 0, 60, hot, 60, NodeHot},
		"as early as nodes settle":          {300, 240, 30, hot, 270, NodeHot},
		"not twice within nodeSettle":       {300, 250, 60, hot, 300, Scheduled},
		"the schedule is as early":          {300, 240, 60, hot, 300, Scheduled},
		"nodes need not settle":             {300, 100, 0, hot, 100, NodeHot},
		"an interval shorter than settling": {30, 0, 60, hot, 30, Scheduled},
		"the first cycle":                   {0, never, 60, hot, 0, Scheduled},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Unix(1e9, 0)
			at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
			last := at(tc.last)
			if tc.last == never {
				last = time.Time{}
			}
			begins, why := begins(at(tc.due), tc.event, last, time.Duration(tc.settle)*time.Second)
			if !begins.Equal(at(tc.want)) || why.Cause != tc.why {
				t.Errorf("begins after %v by %s, want %d and %s", begins.Sub(start), why.Cause, tc.want, tc.why)
			}
		})
	}
}

// scene describes an observation: nodes by their states, and pods by their requests.
type scene struct {
	nodes   map[string]thresholds.State
	closed  []string
	pods    map[string][]int64 // requested milli-cores, by node
	blocked reasons.Reason
}

func (s scene) observation() *observer.Observation {
	o := &observer.Observation{View: &usage.View{Snapshot: &cluster.Snapshot{}}, States: map[string]thresholds.NodeState{}, Blocked: s.blocked}
	for name, state := range s.nodes {
		info := &cluster.NodePods{Node: cluster.Node{Name: name, Ready: true, Schedulable: !slices.Contains(s.closed, name), Allocatable: cluster.Amounts{1000, 1000}}}
		for i, requests := range s.pods[name] {
			info.Pods = append(info.Pods, &cluster.Pod{Name: fmt.Sprint(i), Owner: cluster.Owner{Kind: "ReplicaSet", UID: "rs"}, Requests: cluster.Amounts{requests, 0}})
		}
		o.View.Snapshot.Nodes = append(o.View.Snapshot.Nodes, info)
		o.States[name] = thresholds.NodeState{State: state}
	}
	return o
}

// The cases show which changes between an observation and later ones count as events.
func TestWhatIsAnEvent(t *testing.T) {
	type states = map[string]thresholds.State
	calmFor := func(scenes []scene) []scene { // sampled every minute
		var all []scene
		for _, s := range scenes[:len(scenes)-1] {
			for range calm/time.Minute + 2 {
				all = append(all, s)
			}
		}
		return append(all, scenes[len(scenes)-1])
	}
	const hot, warm, cool, unknown = thresholds.Hot, thresholds.Warm, thresholds.Cool, thresholds.Unknown
	calmScene := scene{nodes: states{"a": cool, "b": cool}}
	hotScene := scene{nodes: states{"a": hot, "b": cool}}
	full := scene{nodes: states{"a": hot, "b": cool}, pods: map[string][]int64{"a": {500}, "b": {900}}}
	for name, tc := range map[string]struct {
		scenes []scene
		usage  bool
		want   Event
	}{
		"nothing":                         {[]scene{calmScene, calmScene}, true, Event{}},
		"what is so from the start":       {[]scene{hotScene, hotScene}, true, Event{}},
		"a node turned hot":               {[]scene{calmScene, hotScene}, true, Event{NodeHot, "a"}},
		"it was hot for a moment":         {[]scene{calmScene, hotScene, calmScene}, true, Event{}},
		"hot again":                       {[]scene{hotScene, calmScene, hotScene}, true, Event{}},
		"hot again after long":            {calmFor([]scene{hotScene, calmScene, hotScene}), true, Event{NodeHot, "a"}},
		"nobody looks at usage":           {[]scene{calmScene, hotScene}, false, Event{}},
		"hot while nothing is known":      {[]scene{calmScene, {nodes: hotScene.nodes, blocked: reasons.NoUsageData}}, true, Event{}},
		"an hour without usage":           {calmFor([]scene{hotScene, {nodes: hotScene.nodes, blocked: reasons.NoUsageData}, hotScene}), true, Event{}},
		"an hour without a node's usage":  {calmFor([]scene{hotScene, {nodes: states{"a": unknown, "b": cool}}, hotScene}), true, Event{}},
		"a node joined":                   {[]scene{calmScene, {nodes: states{"a": cool, "b": cool, "c": warm}}}, true, Event{NodeJoined, "c"}},
		"a node whose usage is not known": {[]scene{calmScene, {nodes: states{"a": cool, "b": cool, "c": unknown}}}, true, Event{}},
		"not known, and not asked":        {[]scene{calmScene, {nodes: states{"a": cool, "b": cool, "c": unknown}}}, false, Event{NodeJoined, "c"}},
		"a node joined that is closed":    {[]scene{calmScene, {nodes: states{"a": cool, "b": cool, "c": cool}, closed: []string{"c"}}}, true, Event{}},
		"a node left":                     {[]scene{calmScene, {nodes: states{"a": cool}}}, true, Event{}},
		"a node is uncordoned":            {[]scene{{nodes: calmScene.nodes, closed: []string{"a"}}, calmScene}, true, Event{NodeJoined, "a"}},
		"it was cordoned for a minute":    {[]scene{calmScene, {nodes: calmScene.nodes, closed: []string{"a"}}, calmScene}, true, Event{}},
		"it was cordoned for long":        {calmFor([]scene{calmScene, {nodes: calmScene.nodes, closed: []string{"a"}}, calmScene}), false, Event{RoomFree, "a"}},
		"pods of a full node ended":       {[]scene{full, {nodes: full.nodes, pods: map[string][]int64{"a": {500}, "b": {400}}}}, true, Event{Cause: RoomFree}},
		"they leave too little":           {[]scene{full, {nodes: full.nodes, pods: map[string][]int64{"a": {500}, "b": {600}}}}, true, Event{}},
		"pods end, and nothing is hot":    {[]scene{{nodes: calmScene.nodes, pods: full.pods}, {nodes: calmScene.nodes}}, true, Event{}},
		"a busy node cooled": {
			[]scene{{nodes: states{"a": hot, "b": warm}, pods: map[string][]int64{"a": {500}}}, {nodes: hotScene.nodes, pods: map[string][]int64{"a": {500}}}},
			true, Event{Cause: RoomFree},
		},
		"hot is what counts most": {[]scene{calmScene, {nodes: states{"a": hot, "b": cool, "c": cool}}}, true, Event{NodeHot, "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1e9, 0)
			e := NewEvents(func() time.Time { return now })
			e.Follow(time.Minute, tc.usage)
			e.begun(Scheduled)
			for _, s := range tc.scenes {
				e.Observed(s.observation())
				now = now.Add(time.Minute)
			}
			if got, _ := e.first(); got != tc.want {
				t.Errorf("event %+v, want %+v", got, tc.want)
			}
			e.begun(Scheduled)
			e.Observed(tc.scenes[len(tc.scenes)-1].observation())
			if got, _ := e.first(); got != (Event{}) {
				t.Errorf("after a cycle: event %+v", got)
			}
		})
	}
}

// A node that has turned hot, but whose pods are not worth moving yet, is judged again until the
// next scheduled cycle.
func TestANodeIsJudgedAgain(t *testing.T) {
	hotNow := func(e *Events) {
		e.Observed(scene{nodes: map[string]thresholds.State{"a": thresholds.Hot, "b": thresholds.Cool}}.observation())
	}
	cools := func(e *Events) {
		e.Observed(scene{nodes: map[string]thresholds.State{"a": thresholds.Cool, "b": thresholds.Cool}}.observation())
	}
	plans := func(why Cause, reason reasons.Reason) func(*Events) {
		return func(e *Events) {
			e.begun(why)
			e.Planned(&strategies.Plan{Nodes: []strategies.NodeReport{{Name: "b"}, {Name: "a", Reason: reason}}})
		}
	}
	notYet, moved := plans(NodeHot, reasons.NotWorthwhile), plans(NodeHot, "")
	for name, tc := range map[string]struct {
		then []func(*Events)
		want Cause
	}{
		"not before it is measured again":                {[]func(*Events){hotNow, notYet}, ""},
		"when it is measured again":                      {[]func(*Events){hotNow, notYet, hotNow}, NodeHot},
		"as long as it stays hot":                        {[]func(*Events){hotNow, notYet, hotNow, notYet, hotNow}, NodeHot},
		"it has cooled":                                  {[]func(*Events){hotNow, notYet, cools}, ""},
		"it has cooled and is hot again":                 {[]func(*Events){hotNow, notYet, cools, hotNow}, ""},
		"its pods are moved":                             {[]func(*Events){hotNow, moved, hotNow}, ""},
		"no node takes them":                             {[]func(*Events){hotNow, plans(NodeHot, reasons.NoLanding), hotNow}, ""},
		"it turned hot just before the schedule's cycle": {[]func(*Events){hotNow, plans(Scheduled, reasons.NotWorthwhile), hotNow}, NodeHot},
		"it has been judged again until the schedule's cycle": {
			[]func(*Events){hotNow, notYet, hotNow, plans(Scheduled, reasons.NotWorthwhile), hotNow}, "",
		},
		"it is judged by the schedule only": {[]func(*Events){hotNow, moved, hotNow, plans(Scheduled, reasons.NotWorthwhile), hotNow}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1e9, 0)
			e := NewEvents(func() time.Time { return now })
			e.Follow(time.Minute, true)
			cools(e)
			e.begun(Scheduled)
			for _, then := range tc.then {
				now = now.Add(time.Minute)
				then(e)
			}
			if got, _ := e.first(); got.Cause != tc.want {
				t.Errorf("event %+v, want %q", got, tc.want)
			}
		})
	}
}

// A changed policy is an event until the next cycle, whatever is observed.
func TestAPolicyIsAnEvent(t *testing.T) {
	e := NewEvents(time.Now)
	e.Follow(time.Minute, true)
	e.Observed(scene{nodes: map[string]thresholds.State{"a": thresholds.Cool}}.observation())
	if got, settle := e.first(); got.Cause != PolicyChanged || settle != time.Minute {
		t.Errorf("event %+v, %v", got, settle)
	}
}

// A node that turns hot during a pause starts a cycle that cannot evict, so the end of the pause is
// an event, whatever is observed.
func TestTheEndOfAPauseIsAnEvent(t *testing.T) {
	e := NewEvents(time.Now)
	e.Follow(time.Minute, true)
	e.begun(Scheduled)
	see := func(state thresholds.State) {
		e.Observed(scene{nodes: map[string]thresholds.State{"a": state, "b": thresholds.Cool}}.observation())
	}
	see(thresholds.Cool)
	for _, step := range []struct {
		then func()
		want Event
	}{
		{func() { e.Paused(false) }, Event{}},
		{func() { e.Paused(true) }, Event{}},
		{func() { see(thresholds.Hot) }, Event{NodeHot, "a"}},
		{func() { e.begun(NodeHot); e.Paused(true); see(thresholds.Hot) }, Event{}},
		{func() { e.Paused(false); see(thresholds.Hot) }, Event{Cause: Resumed}},
		{func() { e.begun(Resumed); e.Paused(false); see(thresholds.Hot) }, Event{}},
	} {
		step.then()
		if got, _ := e.first(); got != step.want {
			t.Errorf("event %+v, want %+v", got, step.want)
		}
	}
}

// stage is a cluster of two nodes that an observer samples every 15 seconds. Its cycles start as in
// production, with the clock of a synctest bubble.
type stage struct {
	t        *testing.T
	began    time.Time
	observer *observer.Observer
	events   *Events // nil if cycles start only on schedule
	// hot reports whether the first node is busy enough to be hot.
	hot func(since time.Duration) bool
	// calledHot is when the observer first called the node hot.
	calledHot time.Duration
	// cycles records why each cycle started, and in which state it saw the node.
	cycles []started
}

// started is the start of a cycle.
type started struct {
	At   time.Duration
	Why  Cause
	Sees thresholds.State
}

const sampleEvery = 15 * time.Second

func (s *stage) Name() string { return "stage" }

func (s *stage) Sample(context.Context, *cluster.Snapshot) (usage.Batch, error) {
	now := time.Now()
	used := int64(3000)
	if s.hot(now.Sub(s.began)) {
		used = 9000
	}
	return usage.Batch{Source: s.Name(), Received: now, Nodes: []usage.NodeSample{
		{Name: "a", Readings: usage.LastReadings(now, cluster.Amounts{used, 1 << 30})},
		{Name: "b", Readings: usage.LastReadings(now, cluster.Amounts{1000, 1 << 30})},
	}}, nil
}

func (s *stage) Observed(o *observer.Observation) {
	if s.calledHot == 0 && o.States["a"].State == thresholds.Hot {
		s.calledHot = time.Since(s.began)
	}
	s.events.Observed(o)
}

func (s *stage) Gated(*observer.Observation) {}

func (s *stage) Ended(ledger.Move) {}

// node adds a node to the cluster.
func (s *stage) node(name string) {
	s.observer.Store().SetNode(&v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: v1.NodeStatus{
			Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("100Gi")},
			Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	})
}

// play runs cycles for some time in a synctest bubble.
func (s *stage) play(t *testing.T, interval, settle, lasts time.Duration) {
	t.Helper()
	s.t, s.began = t, time.Now()
	lines, err := thresholds.New([]thresholds.Pool{{Name: "default", Rules: []thresholds.Rule{
		{Metric: usage.CPU, Window: usage.Last, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}},
	}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if s.observer, err = observer.New(observer.Config{
		Sources: []observer.Source{s}, Usage: usage.Config{SampleInterval: sampleEvery, MaxAge: 90 * time.Second},
		Lines: lines, Hot: thresholds.HotRule{ConsecutiveSamples: 2, SampleInterval: sampleEvery}, HotWindows: []usage.Window{usage.Last},
		MinCoverage: 50, SampleInterval: sampleEvery, Listener: s, Now: time.Now,
	}); err != nil {
		t.Fatal(err)
	}
	s.node("a")
	s.node("b")
	s.observer.Store().SetPod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: types.UID("p")},
		Spec:       v1.PodSpec{NodeName: "a"}, Status: v1.PodStatus{Phase: v1.PodRunning},
	})
	s.events.Follow(settle, true)
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			s.observer.Sample(ctx)
			time.Sleep(sampleEvery)
		}
	}()
	time.Sleep(time.Second) // the first cycle needs an observation
	for why := range Due(ctx, Every(interval), s.events, time.Now, func() {}) {
		s.cycles = append(s.cycles, started{time.Since(s.began), why.Cause, s.observer.Latest().States["a"].State})
	}
	time.Sleep(sampleEvery) // for the last sample
}

// evictions counts the cycles that would have evicted, because they saw a hot node.
func (s *stage) evictions() (n int) {
	for _, c := range s.cycles {
		if c.Sees == thresholds.Hot {
			n++
		}
	}
	return n
}

// If a node turns hot after a cycle, a cycle starts when the observer calls it hot, or as soon as
// the nodes of the last cycle have settled.
func TestANodeTurnsHotAfterACycle(t *testing.T) {
	for name, tc := range map[string]struct {
		hotAfter, settle time.Duration
		want             time.Duration // counted from when the node is called hot
	}{
		"some minutes later":              {3 * time.Minute, time.Minute, 0},
		"right after it":                  {2 * time.Second, time.Minute, 31 * time.Second},
		"right after it, nothing settles": {2 * time.Second, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &stage{events: NewEvents(time.Now), hot: func(since time.Duration) bool { return since >= tc.hotAfter }}
				s.play(t, time.Hour, tc.settle, 2*time.Hour)
				if len(s.cycles) < 2 || s.cycles[1].Why != NodeHot || s.cycles[1].Sees != thresholds.Hot {
					t.Fatalf("cycles %+v", s.cycles)
				}
				if after := s.cycles[1].At - s.calledHot; after != tc.want {
					t.Errorf("acted on %v after it was called hot, want %v", after, tc.want)
				}
				want := []started{{time.Second, Scheduled, thresholds.Cool}, s.cycles[1], {time.Hour + time.Second, Scheduled, thresholds.Hot}}
				if diff := cmp.Diff(want, s.cycles); diff != "" {
					t.Errorf("cycles (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A node that repeatedly turns hot causes no more evictions with events than without. The only
// difference is that the first eviction happens at once.
func TestAFlappingSource(t *testing.T) {
	for _, tc := range []struct{ hot, cool time.Duration }{
		{45 * time.Second, 30 * time.Second},
		{105 * time.Second, 30 * time.Second},
		{2 * time.Minute, 3 * time.Minute}, // at the interval of the cycles
		{3 * time.Minute, 75 * time.Second},
		{time.Minute, 375 * time.Second},
		{7 * time.Minute, 6 * time.Minute},
		{2 * time.Minute, 9 * time.Minute},
	} {
		t.Run(fmt.Sprintf("hot for %v, cool for %v", tc.hot, tc.cool), func(t *testing.T) {
			plays := map[bool]*stage{}
			for _, events := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					s := &stage{hot: func(since time.Duration) bool {
						return since >= time.Minute && (since-time.Minute)%(tc.hot+tc.cool) < tc.hot
					}}
					if events {
						s.events = NewEvents(time.Now)
					}
					s.play(t, 5*time.Minute, time.Minute, 6*time.Hour)
					plays[events] = s
				})
			}
			before, now := plays[false], plays[true]
			t.Logf("%d of %d cycles see a hot node with events, %d of %d without", now.evictions(), len(now.cycles), before.evictions(), len(before.cycles))
			if now.evictions() > before.evictions()+1 || len(now.cycles) > len(before.cycles)+1 {
				t.Errorf("%d of %d cycles see a hot node, %d of %d without events", now.evictions(), len(now.cycles), before.evictions(), len(before.cycles))
			}
		})
	}
}

// However many events there are, nodes settle between two cycles.
func TestEventsDoNotCrowdCycles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewEvents(time.Now)
		e.Follow(time.Minute, true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		go func() {
			for ctx.Err() == nil {
				e.Follow(time.Minute, true)
				time.Sleep(time.Second)
			}
		}()
		last, cycles := time.Time{}, 0
		for range Due(ctx, Every(5*time.Minute), e, time.Now, func() {}) {
			if since := time.Since(last); since < time.Minute {
				t.Errorf("a cycle %v after another", since)
			}
			last = time.Now()
			cycles++
			time.Sleep(10 * time.Second)
		}
		time.Sleep(time.Second)
		if cycles < 55 {
			t.Errorf("%d cycles in an hour", cycles)
		}
	})
}
