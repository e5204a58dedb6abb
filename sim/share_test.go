package sim

import (
	"context"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/sim/trace"
)

// overfull returns a fleet of two nodes with 20 pods. The first ten pods demand more than a node
// has.
func overfull(t *testing.T) *Fleet {
	t.Helper()
	made := &trace.Trace{}
	for i := range 20 {
		busy := float32(5)
		if i < 10 {
			busy = float32(40 + 10*i)
		}
		made.IDs, made.Series = append(made.IDs, "s"), append(made.Series, []float32{busy, busy, busy, busy})
	}
	shape := DefaultShape()
	shape.PodsPerNode, shape.MeanCPUPercent = 10, 80
	fleet, err := NewFleet(shape, made, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range fleet.Replicas {
		fleet.Replicas[i].Home = fleet.machines[i/10].node.Name
	}
	return fleet
}

// The usage measured for pods on an overloaded node is the CPU that they get. Together they get all
// of it, none gets more than it demands, and those that get less get equal shares. A pod that
// leaves has had its share. The demand does not change, and neither does a node that has enough
// CPU.
func TestPodsOfAFullNodeAreMeasuredAtTheirShare(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		w, _ := settled(t, overfull(t), 30*time.Second)
		w.usage.byShare = true
		if err := w.proceed(0, w.start); err != nil {
			t.Fatal(err)
		}
		if leaves {
			w.reserved = w.nodes[1].Name
			if _, err := w.evict(w.replicas[9].pod.UID, w.start.Add(Step/2)); err != nil {
				t.Fatal(err)
			}
		}
		w.usage.end(w)
		if w.usage.demands[0][0][cluster.CPU] <= 100 || w.usage.demands[0][1][cluster.CPU] >= 100 {
			t.Fatalf("the demand on the nodes is %v", w.usage.demands[0])
		}
		node, largest := int64(0), int64(0)
		for _, pod := range w.assigned[0] {
			r := &w.replicas[w.byUID[pod.UID]]
			node, largest = node+r.measured[cluster.CPU], max(largest, r.measured[cluster.CPU])
		}
		for i := range w.replicas {
			r := &w.replicas[i]
			full := r.node == 0
			short := r.measured[cluster.CPU] < r.demand[cluster.CPU]
			if r.measured[cluster.CPU] > r.demand[cluster.CPU] || short && (!full || r.measured[cluster.CPU] < largest) {
				t.Errorf("replica %d on node %d was measured at %d of %d, another one at %d", i, r.node, r.measured[cluster.CPU], r.demand[cluster.CPU], largest)
			}
		}
		has := w.usage.past[0][0][cluster.CPU]
		if had := has - node; has != w.fleet.Capacity[cluster.CPU] || !leaves && had > 10 || leaves && (had < largest/2-10 || had > largest/2+10) {
			t.Errorf("leaves: %v: %d of %d were measured of its pods, the largest %d", leaves, node, has, largest)
		}
	}
}

// The decisions of others are based on served usage as well. Without the setting, nothing changes.
func TestMeasuringServedUsageIsASetting(t *testing.T) {
	for _, served := range []bool{false, true} {
		play := Config{
			Fleet: overfull(t), Steps: 1, Every: DefaultEvery, HotLinePercent: DefaultHotLine, ExtenderWeight: 1, MaxUnavailablePercent: noBudget,
			MeasureServed: served, Variants: []Variant{{Name: "none"}},
		}
		places, err := firstPlaces(context.Background(), &play)
		if err != nil {
			t.Fatal(err)
		}
		p := &player{config: &play, variant: &play.Variants[0], tally: newTally()}
		if err := p.build(t.Context(), places); err != nil {
			t.Fatal(err)
		}
		if err := p.step(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		a := newArena(1, p.world, p.tally)
		shown := measured{world: p.world}.PodUsage(p.world.replicas[9].pod.Name)
		for _, pod := range a.Node(p.world.nodes[0].Name).Pods {
			r := &p.world.replicas[pod.ID]
			if less := pod.Used[cluster.CPU] < r.demand[cluster.CPU]; pod.ID == 9 && (less != served || shown.Cpu().MilliValue() != pod.Used[cluster.CPU]) {
				t.Errorf("measured as served: %v: %d of %d, to upstream %d", served, pod.Used[cluster.CPU], r.demand[cluster.CPU], shown.Cpu().MilliValue())
			}
		}
	}
}
