package announce

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/events"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

var start = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// watching replays observations of nodes with 10 cores and 100 GiB.
type watching struct {
	*Nodes
	t        *testing.T
	recorder *events.FakeRecorder
	states   map[string]thresholds.NodeState
	cpu      map[string]int64 // milli-cores
}

func newWatching(t *testing.T) *watching {
	recorder := events.NewFakeRecorder(1000)
	return &watching{
		Nodes: NewNodes(NewAnnouncer(recorder, "ns")), t: t, recorder: recorder,
		states: map[string]thresholds.NodeState{}, cpu: map[string]int64{},
	}
}

// set changes a node's state and CPU at the given time.
func (w *watching) set(name string, state thresholds.State, at time.Duration, cpu int64) {
	w.states[name], w.cpu[name] = thresholds.NodeState{State: state, Since: start.Add(at)}, cpu
}

// observe makes an observation of the given nodes.
func (w *watching) observe(at time.Duration, nodes ...string) {
	w.t.Helper()
	view := &usage.View{At: start.Add(at), Snapshot: &cluster.Snapshot{}, Windows: []usage.Window{usage.Last, usage.Avg5m}}
	for _, name := range nodes {
		size := cluster.Amounts{10_000, 100 << 30}
		view.Snapshot.Nodes = append(view.Snapshot.Nodes, &cluster.NodePods{Node: cluster.Node{Name: name, Allocatable: size, Capacity: size, Ready: true}})
		used := []cluster.Amounts{{w.cpu[name], 40 << 30}, {w.cpu[name], 40 << 30}}
		view.Nodes = append(view.Nodes, usage.NodeUsage{Measured: used, Current: used, Predicted: used})
	}
	set, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{{
		Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60},
	}}}}, 5)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Observed(&observer.Observation{At: view.At, View: view, States: w.states, Lines: set.Resolve(view)})
}

func (w *watching) want(step string, want ...string) {
	w.t.Helper()
	var got []string
	for len(w.recorder.Events) > 0 {
		got = append(got, <-w.recorder.Events)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("%s: Events (-want +got):\n%s", step, diff)
	}
}

// If a node that has cooled is measured above its evict line, the Event explains which usage does
// not count.
func TestCooledByWhatCounts(t *testing.T) {
	w, h := newWatching(t), testkit.Unsettled(t)
	w.announcer.Evicting(leads{})
	w.set(testkit.StartingNode, thresholds.Hot, 0, 9650)
	w.observe(0, testkit.StartingNode)
	w.want("hot", "Warning BecameHot Became hot: cpu 96.5% (avg_5m) is above the 65% evict line.")
	w.Observed(&observer.Observation{At: start.Add(10 * time.Minute), View: h.View, States: h.States, Lines: h.Lines, SamplesNeeded: 3})
	w.want("its pods were replaced", "Normal Cooled Cooled after 10m: cpu 12.2%, memory 10.0% over 5 minutes. "+
		"It is not hot yet: cpu avg_5m is measured at 96.6%, above the evict line 65%, and counts as 12.2%: "+
		"84.4 points are from 12 pods that started 4 min ago and count from 05:30 UTC on.")
}

// A node gets one Event for each change, with the numbers, and only from the leader.
func TestNodesAreTold(t *testing.T) {
	w := newWatching(t)
	w.set("a", thresholds.Hot, 0, 9650)
	w.set("b", thresholds.Cool, 0, 1000)
	w.observe(0, "a", "b")
	w.want("nobody leads")
	w.announcer.Evicting(leads{})
	w.observe(15*time.Second, "a", "b")
	w.want("it leads and this is news", "Warning BecameHot Became hot: cpu 96.5% (avg_5m) is above the 65% evict line.")
	w.observe(30*time.Second, "a", "b")
	w.want("nothing has changed")
	w.set("a", thresholds.Unknown, time.Minute, 9650)
	w.observe(time.Minute, "a", "b")
	w.want("it is not known for a while")
	w.set("a", thresholds.Hot, 75*time.Second, 9650)
	w.observe(75*time.Second, "a", "b")
	w.want("it is still hot")
	w.set("a", thresholds.Warm, 10*time.Minute, 5830)
	w.observe(10*time.Minute, "a", "b")
	w.want("it is no longer hot", "Normal Cooled Cooled after 10m: cpu 58.3%, memory 40.0% over 5 minutes.")
	w.set("b", thresholds.Hot, 11*time.Minute, 6200)
	w.observe(11*time.Minute, "a", "b")
	w.want("another one, back below its evict line", "Warning BecameHot Became hot: cpu 62.0%, memory 40.0% over 5 minutes.")
	w.observe(12*time.Minute, "a")
	w.set("b", thresholds.Cool, 13*time.Minute, 0)
	w.observe(13*time.Minute, "a", "b")
	w.want("it was deleted and came back")
}

// A process that starts to lead does not repeat old news, and one that no longer leads reports
// nothing.
func TestOldNewsIsNotTold(t *testing.T) {
	w := newWatching(t)
	w.set("a", thresholds.Hot, 0, 9650)
	w.observe(0, "a")
	w.announcer.Evicting(leads{})
	w.observe(freshFor+time.Second, "a")
	w.want("it has been hot for long")
	w.announcer.Evicting(leads{errors.New("the Lease is lost")})
	w.set("a", thresholds.Cool, time.Hour, 100)
	w.observe(time.Hour, "a")
	w.Planned(&strategies.Plan{Nodes: []strategies.NodeReport{{Name: "a", State: thresholds.Hot, Reason: reasons.NoLanding}}})
	w.want("it does not lead")
}

// If many nodes become hot at once, only a few Events are written at a time.
func TestNodeEventsAreBounded(t *testing.T) {
	w := newWatching(t)
	w.announcer.Evicting(leads{})
	var names []string
	for i := range 2*mostNodeEvents + 5 {
		names = append(names, fmt.Sprintf("n-%02d", i))
		w.set(names[i], thresholds.Hot, 0, 9650)
	}
	for i, want := range []int{mostNodeEvents, mostNodeEvents, 5, 0} {
		w.observe(time.Duration(i)*15*time.Second, names...)
		if got := len(w.recorder.Events); got != want {
			t.Errorf("observation %d: %d Events, want %d", i, got, want)
		}
		w.recorder.Events = make(chan string, 1000)
	}
}

// The reason why a node cannot be cooled is reported once, until it changes.
func TestNodesThatStayHotAreTold(t *testing.T) {
	w := newWatching(t)
	w.announcer.Evicting(leads{})
	w.set("a", thresholds.Hot, 0, 9650)
	w.observe(0, "a")
	w.want("it is hot", "Warning BecameHot Became hot: cpu 96.5% (avg_5m) is above the 65% evict line.")
	report := strategies.NodeReport{Name: "a", State: thresholds.Hot, Before: cluster.Percents{96.5, 40}, NoRoom: cluster.Amounts{3150, 0}}
	for _, step := range []struct {
		reason reasons.Reason
		want   string // the start of the Event; empty for none
	}{
		{"", ""},
		{reasons.MoveLimit, ""},
		{reasons.NoLanding, "Warning CannotBeCooled Stays hot (cpu 96.5%, memory 40.0%): the cool nodes do not take enough of its pods: 3150m cpu, 0Mi memory would have to leave."},
		{reasons.NoLanding, ""},
		{reasons.HotThroughImmovable, "Warning CannotBeCooled Stays hot (cpu 96.5%, memory 40.0%): moving every pod that may be moved would not bring it below its evict line; those of namespace a"},
	} {
		if report.Reason = step.reason; step.reason == reasons.HotThroughImmovable {
			report.Pinned = "those of namespace a"
		}
		w.Planned(&strategies.Plan{Nodes: []strategies.NodeReport{report, {Name: "unseen", State: thresholds.Hot, Reason: reasons.NoLanding}}})
		got := ""
		if len(w.recorder.Events) > 0 {
			got = <-w.recorder.Events
		}
		if (got == "") != (step.want == "") || !strings.HasPrefix(got, step.want) {
			t.Errorf("with %q: Event %q, want %q", step.reason, got, step.want)
		}
	}
}

// A resource that no line needs and no source reports is not reported as unused.
func TestPercents(t *testing.T) {
	for want, p := range map[string]cluster.Percents{"cpu 96.5%": {cluster.CPU: 96.5}, "no usage": {}} {
		if got := percents(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// BenchmarkObserved measures the cost of each observation when nothing has changed.
func BenchmarkObserved(b *testing.B) {
	for _, nodes := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			o := &observer.Observation{
				At: start, States: map[string]thresholds.NodeState{}, View: &usage.View{Snapshot: &cluster.Snapshot{}},
			}
			for i := range nodes {
				name := fmt.Sprintf("node-%04d", i)
				o.View.Snapshot.Nodes = append(o.View.Snapshot.Nodes, &cluster.NodePods{Node: cluster.Node{Name: name}})
				o.States[name] = thresholds.NodeState{State: thresholds.Warm, Since: start}
			}
			n := NewNodes(NewAnnouncer(events.NewFakeRecorder(1), "ns"))
			b.ReportAllocs()
			for b.Loop() {
				n.Observed(o)
			}
		})
	}
}
