package sim_test

import (
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/sim"
	"github.com/evenkeel/evenkeel/sim/recording"
)

// odd is a valid recording unlike any cluster: requests and usage exceed capacity, a node is not
// ready, another repels everything, a selector selects nothing, and pods are bound where nothing
// fits.
const odd = `{"header":{"version":1,"start":"2026-03-02T09:30:00Z","intervalSeconds":300}}
{"node":{"id":0,"name":"a","ready":false,"allocatable":{"cpu":"1m","memory":"1"}}}
{"node":{"id":1,"name":"b","ready":true,"unschedulable":true,"allocatable":{"cpu":"4","memory":"8Gi","pods":"0"},"taints":[{"key":"k","effect":"NoExecute"}]}}
{"template":{"id":0,"namespace":"","requests":{"cpu":"1000000","memory":"1e15"}}}
{"template":{"id":1,"namespace":"n","ownerKind":"ReplicaSet","ownerName":"r","nodeSelector":{"a":"b"},"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"}]}}
{"template":{"id":2,"namespace":"n","ownerKind":"DaemonSet","ownerName":"d","stays":"DaemonSet"}}
{"pod":{"id":0,"template":0,"name":""}}
{"pod":{"id":1,"template":1,"name":"x"}}
{"reading":{"number":0,"came":[0,0,1,1],"nodes":[0,1000000000,0],"pods":[0,1000000000,1099511627776,1,0,0]}}
{"node":{"id":2,"name":"c","ready":true,"allocatable":{"cpu":"4","memory":"8Gi"}}}
{"pod":{"id":2,"template":1,"name":"x"}}
{"pod":{"id":3,"template":2,"name":"y"}}
{"pod":{"id":4,"template":2,"name":"z"}}
{"reading":{"number":3,"came":[2,2,3,2,4,0],"gone":[1]}}
{"reading":{"number":9,"gone":[0,2,3]}}
`

// A recording unlike any cluster is replayed to the end, with finite figures.
func TestOddRecordings(t *testing.T) {
	rec, err := recording.Read(strings.NewReader(odd))
	if err != nil {
		t.Fatal(err)
	}
	fleet, assumed, err := sim.NewRecordedFleet(sim.Recorded{Recording: rec})
	if err != nil {
		t.Fatal(err)
	}
	if assumed.LaterNodes != 1 || assumed.LaterPods != 1 || len(fleet.Replicas) != 4 {
		t.Errorf("assumed %+v, %d replicas; want a node and its pod left out of 3 and 5", assumed, len(fleet.Replicas))
	}
	wantFigures(t, fleet)
}

func wantFigures(t *testing.T, fleet *sim.Fleet) {
	t.Helper()
	for _, r := range played(t, fleet, sim.Variant{Name: "none"}, sim.Variant{Name: "oracle", Oracle: true}) {
		for _, figure := range []float64{r.HotPercent, r.UnservedPercent, r.LostPercent, r.CPUDeviation, r.EvictionsPerPodAndDay} {
			if !(figure >= 0) {
				t.Errorf("%s: %+v", r.Variant, r)
			}
		}
	}
}

func FuzzRecordedFleet(f *testing.F) {
	f.Add(odd)
	f.Fuzz(func(t *testing.T, text string) {
		rec, err := recording.Read(strings.NewReader(text))
		if err != nil || rec.Readings > 20 {
			return
		}
		if fleet, _, err := sim.NewRecordedFleet(sim.Recorded{Recording: rec}); err == nil {
			wantFigures(t, fleet)
		}
	})
}
