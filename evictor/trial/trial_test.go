package trial

import (
	stdcmp "cmp"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/history"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer"
)

// site is two nodes with ten cores each, and their pods.
type site struct {
	source, destination int64 // usage in milli-CPU; negative if not measured
	state               thresholds.State
	pods                map[string]*v1.Pod
}

func (s *site) Pod(_, name string) *v1.Pod { return s.pods[name] }

func (s *site) observe(t *testing.T) *observer.Observation {
	t.Helper()
	set, err := thresholds.New([]thresholds.Pool{{Rules: []thresholds.Rule{
		{Metric: usage.CPU, Window: usage.Avg5m, Levels: thresholds.Levels{Low: 45, Reject: 60, Evict: 65, Leave: 60}},
	}}}, 3)
	if err != nil {
		t.Fatal(err)
	}
	view := &usage.View{Windows: []usage.Window{usage.Last, usage.Avg5m}, Snapshot: &cluster.Snapshot{}}
	for _, n := range []struct {
		name string
		cpu  int64
	}{{"from", s.source}, {"to", s.destination}} {
		size := cluster.Amounts{10_000, 100 << 30}
		view.Snapshot.Nodes = append(view.Snapshot.Nodes, &cluster.NodePods{Node: cluster.Node{
			Name: n.name, Allocatable: size, Capacity: size, Ready: true, Schedulable: true,
		}})
		unknown := reasons.Reason("")
		if n.cpu < 0 {
			unknown = reasons.UsageStale
		}
		used := []cluster.Amounts{{n.cpu, 1 << 30}, {n.cpu, 1 << 30}}
		view.Nodes = append(view.Nodes, usage.NodeUsage{
			Measured: used, Current: used, Predicted: used, SourceSpan: make([]time.Duration, 2), Sampled: start, Unknown: unknown,
		})
	}
	lines := set.Resolve(view)
	return &observer.Observation{
		View: view, Lines: lines, Board: scorer.NewBoard(view, lines, scorer.Config{}),
		States: map[string]thresholds.NodeState{"from": {State: s.state}},
	}
}

var start = time.Date(2026, 11, 4, 2, 0, 0, 0, time.UTC)

func podNamed(name, uid string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid)}}
}

func moveOf(n int) *ledger.Intent {
	return &ledger.Intent{
		Namespace: "ns", Pod: fmt.Sprint("web-", n), PodUID: fmt.Sprint("uid-", n), From: "from", To: "to", Usage: cluster.Amounts{2000, 1 << 30},
	}
}

// A move that was not made would have been worth its eviction if the source is still hot, the pod
// is still there, and the destination still accepts it.
func TestJudge(t *testing.T) {
	stays := map[string]*v1.Pod{"web-1": podNamed("web-1", "uid-1")}
	cases := map[string]struct {
		site    site
		want    history.Trial
		from    string // instead of the source
		unknown bool
	}{
		"needed":                     {site: site{9000, 1000, thresholds.Hot, stays}, want: history.Trial{SourceStillHot: true, DestinationTakes: true, PodStayed: true}},
		"the source cooled":          {site: site{4000, 1000, thresholds.Warm, stays}, want: history.Trial{DestinationTakes: true, PodStayed: true}},
		"the destination filled up":  {site: site{9000, 4500, thresholds.Hot, stays}, want: history.Trial{SourceStillHot: true, PodStayed: true}},
		"the pod is gone":            {site: site{9000, 1000, thresholds.Hot, nil}, want: history.Trial{SourceStillHot: true, DestinationTakes: true}},
		"a namesake replaced it":     {site: site{9000, 1000, thresholds.Hot, map[string]*v1.Pod{"web-1": podNamed("web-1", "other")}}, want: history.Trial{SourceStillHot: true, DestinationTakes: true}},
		"the source is not measured": {site: site{-1, 1000, thresholds.Unknown, stays}, unknown: true},
		"the source is gone":         {site: site{9000, 1000, thresholds.Hot, stays}, from: "gone", unknown: true},
		"nor is the destination":     {site: site{9000, -1, thresholds.Hot, stays}, unknown: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			move := moveOf(1)
			move.From = stdcmp.Or(tc.from, move.From)
			got, known := judge(tc.site.observe(t), &tc.site, move)
			if diff := cmp.Diff(tc.want, got); diff != "" || known == tc.unknown {
				t.Errorf("known %v, (-want +got):\n%s", known, diff)
			}
		})
	}
}

// Judgements wait until they are due and for measurements, but not indefinitely, and the number of
// waiting ones is bounded.
func TestJudgementsWait(t *testing.T) {
	judged := 0
	ctx := klog.NewContext(t.Context(), funcr.New(func(string, string) { judged++ }, funcr.Options{}))
	s, blind := &site{9000, 1000, thresholds.Hot, nil}, &site{-1, 1000, thresholds.Unknown, nil}
	trial := Trial{}
	add := func(n int) {
		for i := range n {
			trial.Add(moveOf(i), start)
			trial.Add(moveOf(i), start.Add(time.Minute)) // already waiting
		}
	}
	unplanned := moveOf(0)
	unplanned.To = ""
	trial.Add(unplanned, start)
	steps := []struct {
		what    string
		do      func()
		judged  int
		waiting int
	}{
		{"before its time", func() { add(2); trial.Judge(ctx, s.observe(t), s, start.Add(-time.Second)) }, 0, 2},
		{"without measurements", func() { trial.Judge(ctx, blind.observe(t), blind, start) }, 0, 2},
		{"measured", func() { trial.Judge(ctx, s.observe(t), s, start) }, 2, 0},
		{"never measured", func() { add(1); trial.Judge(ctx, blind.observe(t), blind, start.Add(maxWait+time.Second)) }, 2, 0},
		{"too many", func() { add(maxPending + 1) }, 2, maxPending},
	}
	for _, step := range steps {
		if step.do(); judged != step.judged || len(trial.pending) != step.waiting {
			t.Errorf("%s: %d judged, %d wait; want %d and %d", step.what, judged, len(trial.pending), step.judged, step.waiting)
		}
	}
}
