package announce

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/events"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

// leads is a Leader, which no longer leads if err is set.
type leads struct{ err error }

func (l leads) Leads() error { return l.err }

// Only the evicting process writes Events. It reports a gate that closed before it started to lead,
// and reports the opening only if it has reported the closing.
func TestGateIsToldByEvents(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	a := NewAnnouncer(recorder, "ns")
	turn := func(gate reasons.Reason) {
		a.Gated(&observer.Observation{Blocked: gate, Ready: 3, View: &usage.View{Snapshot: &cluster.Snapshot{}}})
	}
	turn("")
	turn(reasons.UsageSourceUnavailable)
	turn(reasons.UsageCoverageTooLow)
	if len(recorder.Events) > 0 {
		t.Errorf("an Event by a process that does not evict: %s", <-recorder.Events)
	}
	a.Evicting(leads{})
	turn("")
	turn("")
	turn(reasons.NoUsageData)
	a.Evicting(leads{errors.New("the Lease is lost")})
	turn("")
	a.tell("Normal", "RoomFound", "not reported by a process that no longer leads")
	want := []string{
		"Warning UsageCoverageTooLow UsageCoverageTooLow: 0 of 3 ready nodes have fresh usage",
		"Normal UsageGateOpened Real usage is known well enough to evict on.",
		"Warning NoUsageData NoUsageData: 0 of 3 ready nodes have fresh usage",
	}
	var got []string
	for len(recorder.Events) > 0 {
		got = append(got, <-recorder.Events)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
