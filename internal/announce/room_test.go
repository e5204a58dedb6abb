package announce

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/tools/events"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/strategies"
)

// Events tell when room begins and ceases to be missing, gauges how much is.
func TestMissingRoom(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	a := NewAnnouncer(recorder, "ns")
	a.Evicting()
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
		"Warning RoomMissing Hot nodes stay hot, because their pods have nowhere better to go: 2; what would have to leave them: 2000m cpu, 1024 Mi memory. " +
			"More nodes, or higher reject lines, would help.",
		"Normal RoomFound No node stays hot for lack of room any more.",
	}
	var got []string
	for len(recorder.Events) > 0 {
		got = append(got, <-recorder.Events)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
