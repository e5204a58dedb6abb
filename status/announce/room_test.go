package announce

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/tools/events"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// Events report when space starts to be missing and when it no longer is. Gauges report how much is
// missing.
func TestMissingRoom(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	a := NewAnnouncer(recorder, "ns")
	a.Evicting(leads{})
	r := NewRoom(a, prometheus.NewRegistry())
	full := &strategies.Plan{Nodes: []strategies.NodeReport{
		{Name: "a", NoRoom: cluster.Amounts{1500, 0}}, {Name: "b"}, {Name: "c", NoRoom: cluster.Amounts{500, 1 << 30}},
	}}
	for _, step := range []struct {
		plan          *strategies.Plan
		cores, memory float64
	}{{&strategies.Plan{}, 0, 0}, {full, 2, 1 << 30}, {full, 2, 1 << 30}, {&strategies.Plan{}, 0, 0}, {&strategies.Plan{}, 0, 0}} {
		r.Planned(step.plan)
		if cores, memory := testutil.ToFloat64(r.cores), testutil.ToFloat64(r.memory); cores != step.cores || memory != step.memory {
			t.Errorf("%v cores and %v bytes are missing, want %v and %v", cores, memory, step.cores, step.memory)
		}
	}
	want := []string{
		"Warning RoomMissing Nodes that stay hot, because cool nodes cannot take enough of their pods: 2; usage that would have to leave them: 2000m cpu, 1024Mi memory. " +
			"More nodes, higher reject lines or looser placement rules of the pods would help.",
		"Normal RoomFound No node stays hot for lack of space any longer.",
	}
	var got []string
	for len(recorder.Events) > 0 {
		got = append(got, <-recorder.Events)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A plan may not reach a node because of the plan's limit of moves, or because the node's pods
// cannot leave at the moment. Such a plan does not change what is known about space for that node.
func TestSpaceStaysMissingUntilAPlanFindsIt(t *testing.T) {
	without := func(reason reasons.Reason, lacks cluster.Amounts) *strategies.Plan {
		return &strategies.Plan{Nodes: []strategies.NodeReport{
			{Name: "a", State: thresholds.Hot}, {Name: "b", State: thresholds.Hot, Reason: reason, NoRoom: lacks},
		}}
	}
	full := without(reasons.NoLanding, cluster.Amounts{1500, 0})
	gone := &strategies.Plan{Nodes: []strategies.NodeReport{{Name: "a", State: thresholds.Hot}}}
	for name, tc := range map[string]struct {
		plans []*strategies.Plan
		want  int // number of Events
		cores float64
	}{
		"the limit of moves comes first":  {[]*strategies.Plan{full, without(reasons.MoveLimit, cluster.Amounts{}), full}, 1, 1.5},
		"budgets are used up for a while": {[]*strategies.Plan{full, without(reasons.HotThroughImmovable, cluster.Amounts{})}, 1, 1.5},
		"it is cooled":                    {[]*strategies.Plan{full, without("", cluster.Amounts{})}, 2, 0},
		"it is gone":                      {[]*strategies.Plan{full, gone}, 2, 0},
		"nothing was missing":             {[]*strategies.Plan{without(reasons.MoveLimit, cluster.Amounts{})}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := events.NewFakeRecorder(10)
			a := NewAnnouncer(recorder, "ns")
			a.Evicting(leads{})
			r := NewRoom(a, prometheus.NewRegistry())
			for _, plan := range tc.plans {
				r.Planned(plan)
			}
			if got, cores := len(recorder.Events), testutil.ToFloat64(r.cores); got != tc.want || cores != tc.cores {
				t.Errorf("%d Events and %v cores, want %d and %v", got, cores, tc.want, tc.cores)
			}
		})
	}
}
