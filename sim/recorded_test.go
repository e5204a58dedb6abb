package sim_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/sim"
	"github.com/evenkeel/evenkeel/sim/recording"
)

const gib = 1 << 30

// live is a cluster to be recorded, with its usage outside pods. It has large and small nodes, and
// node 0 is crowded.
type live struct {
	interval time.Duration
	nodes    []*v1.Node
	// pods returns the pods in a reading, with their usage.
	pods func(reading int) []recording.PodReading
	// unknown reports whether a node's usage in a reading is unknown.
	unknown func(node, reading int) bool
}

const systemMilli, systemBytes = 150, gib / 2

func recordedNode(name string, cores int64) *v1.Node {
	list := v1.ResourceList{
		v1.ResourceCPU: *resource.NewQuantity(cores, resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(cores*4*gib, resource.BinarySI),
		v1.ResourcePods: resource.MustParse("110"),
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{
			Allocatable: list, Capacity: list, Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
}

func recordedPod(name, node, kind, owner string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: name, UID: types.UID(name),
			OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: owner, UID: types.UID(owner), Controller: new(true)}},
		},
		Spec: v1.PodSpec{NodeName: node, Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("500m"), v1.ResourceMemory: resource.MustParse("1Gi"),
		}}}}},
	}
}

// record writes the given number of readings and reads them back.
func (l *live) record(t *testing.T, readings int) *recording.Recording {
	t.Helper()
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, recording.Header{IntervalSeconds: int(l.interval.Seconds())}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for reading := range readings {
		pods := l.pods(reading)
		var nodes []recording.NodeReading
		for i, node := range l.nodes {
			used := cluster.Amounts{systemMilli, systemBytes}
			for _, pod := range pods {
				if pod.Object.Spec.NodeName == node.Name && pod.Used != nil {
					used = used.Plus(*pod.Used)
				}
			}
			nodes = append(nodes, recording.NodeReading{Object: node, Used: &used})
			if l.unknown != nil && l.unknown(i, reading) {
				nodes[i].Used = nil
			}
		}
		if err := w.Reading(reading, nodes, pods); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rec, err := recording.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// crowd returns a cluster whose first node, a small one, has most of the pods. A DaemonSet has one
// pod on each node.
func crowd(interval time.Duration) *live {
	l := &live{interval: interval, nodes: []*v1.Node{recordedNode("a", 4), recordedNode("b", 16), recordedNode("c", 8)}}
	l.pods = func(reading int) (pods []recording.PodReading) {
		for i := range 6 {
			node := "a"
			if i > 4 {
				node = "b"
			}
			used := cluster.Amounts{int64(500 + 10*reading + i), gib}
			pods = append(pods, recording.PodReading{Object: recordedPod(fmt.Sprint("web-", i), node, "ReplicaSet", "web"), Used: &used})
		}
		for _, node := range l.nodes {
			used := cluster.Amounts{50, gib / 4}
			pods = append(pods, recording.PodReading{Object: recordedPod("agent-"+node.Name, node.Name, "DaemonSet", "agent"), Used: &used})
		}
		return pods
	}
	return l
}

func played(t *testing.T, fleet *sim.Fleet, variants ...sim.Variant) []sim.Result {
	t.Helper()
	results, err := sim.Run(t.Context(), sim.Config{
		Fleet: fleet, Variants: variants, Every: sim.DefaultEvery, Lag: sim.DefaultLag, Gap: sim.DefaultGap,
		HotLinePercent: 70, ExtenderWeight: sim.DefaultExtenderWeight, MaxUnavailablePercent: sim.DefaultMaxUnavailable, Seed: 1,
		KeepUsage: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// If nothing moves, every node is replayed at its recorded usage, in percent of its own size.
func TestRecordedNodesAreReplayed(t *testing.T) {
	const readings = 20
	l := crowd(sim.Step)
	rec := l.record(t, readings)
	fleet, assumed, err := sim.NewRecordedFleet(sim.Recorded{Name: "day", Recording: rec})
	if err != nil || assumed != (sim.Assumed{}) {
		t.Fatalf("assumed %+v, %v", assumed, err)
	}
	none := played(t, fleet, sim.Variant{Name: "none"})[0]
	if none.Nodes != 3 || none.Pods != 9 || len(none.Usage) != readings {
		t.Fatalf("%d nodes, %d pods, %d steps", none.Nodes, none.Pods, len(none.Usage))
	}
	for n, node := range rec.Nodes {
		cores := node.Allocatable.Cpu().MilliValue()
		for reading := range readings {
			used, _ := node.Used.At(reading)
			if got, want := none.Usage[reading][n], 100*float64(used)/float64(cores); math.Abs(got-want) > 0.1 {
				t.Errorf("node %s, reading %d: %.2f %%, recorded %.2f %%", node.Name, reading, got, want)
			}
		}
	}
}

// Pods that must not be evicted stay. An oracle moves the others off the crowded node, to where
// there is most space for their size.
func TestRecordedPodsAreMoved(t *testing.T) {
	fleet, _, err := sim.NewRecordedFleet(sim.Recorded{Recording: crowd(sim.Step).record(t, 30)})
	if err != nil {
		t.Fatal(err)
	}
	fixed := 0
	for i := range fleet.Replicas {
		if fleet.Replicas[i].Fixed {
			fixed++
		}
	}
	results := played(t, fleet, sim.Variant{Name: "none"}, sim.Variant{Name: "oracle", Oracle: true}, sim.Variant{Name: "upstream", Upstream: upstream})
	none, oracle := results[0], results[1]
	if fixed != 3 || none.HotPercent < 30 || oracle.HotPercent > none.HotPercent/2 {
		t.Errorf("%d pods are fixed, want the DaemonSet's 3; %.1f %% hot, %.1f %% with an oracle", fixed, none.HotPercent, oracle.HotPercent)
	}
	for _, r := range results {
		for step, row := range r.Usage {
			for n, least := range []float64{4000, 16000, 8000} { // what nothing can move: the system's share and the DaemonSet's pod
				if got := row[n] * least / 100; got < systemMilli+50-1 {
					t.Errorf("%s, step %d: node %d uses %.0f milli-cores, less than what stays there", r.Variant, step, n, got)
				}
			}
		}
	}
}

// A pod that is its owner's only one is never moved. The same pods with a common owner are.
func TestRecordedSinglesStay(t *testing.T) {
	for name, tc := range map[string]struct {
		owner func(i int) string
		moves bool
	}{
		"replicas of one owner": {func(int) string { return "web" }, true},
		"an owner each":         {func(i int) string { return fmt.Sprint("web-", i) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := crowd(sim.Step)
			always := l.pods
			l.pods = func(reading int) []recording.PodReading {
				pods := always(reading)
				for i := range 6 {
					pods[i].Object.OwnerReferences[0].Name = tc.owner(i)
				}
				return pods
			}
			fleet, _, err := sim.NewRecordedFleet(sim.Recorded{Recording: l.record(t, 30)})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range played(t, fleet, sim.Variant{Name: "upstream", Upstream: upstream}, sim.Variant{Name: "oracle", Oracle: true}) {
				if moved := r.Evictions > 0; moved != tc.moves {
					t.Errorf("%s: %d evictions", r.Variant, r.Evictions)
				}
			}
		})
	}
}

// Pods that arrived later are placed at that time, those that left are gone, and a pinned pod is
// placed on its node.
func TestRecordedComingAndGoing(t *testing.T) {
	l := crowd(sim.Step)
	always := l.pods
	agent := recordedPod("late-agent", "c", "DaemonSet", "late")
	l.pods = func(reading int) []recording.PodReading {
		pods := always(reading)
		if reading >= 5 {
			pods = pods[1:] // web-0 is gone
		}
		if reading >= 3 && reading < 9 {
			pods = append(pods, recording.PodReading{Object: agent, Used: &cluster.Amounts{1000, gib}})
		}
		return pods
	}
	fleet, _, err := sim.NewRecordedFleet(sim.Recorded{Recording: l.record(t, 12)})
	if err != nil {
		t.Fatal(err)
	}
	none := played(t, fleet, sim.Variant{Name: "none"})[0]
	for step, row := range none.Usage {
		c := systemMilli + 50.0
		if step >= 3 && step < 9 {
			c += 1000
		}
		// The pod is bound shortly after its step begins, so at most the lag is missing from its
		// usage.
		if got := row[2] * 8000 / 100; got > c+1 || got < c-1000*0.11-1 {
			t.Errorf("step %d: the node of the late agent uses %.0f milli-cores, want %.0f", step, got, c)
		}
		web := 0.0
		for i := range 6 {
			if i > 0 && i < 5 || i == 0 && step < 5 {
				web += float64(500 + 10*step + i)
			}
		}
		if got := row[0] * 4000 / 100; math.Abs(got-web-systemMilli-50) > float64(len(l.nodes))*20 {
			t.Errorf("step %d: the crowded node uses %.0f milli-cores, want about %.0f", step, got, web+systemMilli+50)
		}
	}
}

// Unmeasured usage is filled in from the previous value, the first later one, other pods of the
// template, or the request.
func TestRecordedGaps(t *testing.T) {
	l := crowd(sim.Step)
	always := l.pods
	l.unknown = func(node, _ int) bool { return node == 1 }
	l.pods = func(reading int) []recording.PodReading {
		pods := always(reading)
		if reading < 2 || reading == 4 {
			pods[0].Used = nil
		}
		pods[1].Used = nil
		return append(pods, recording.PodReading{Object: recordedPod("new-0", "c", "ReplicaSet", "new")}, recording.PodReading{Object: recordedPod("new-1", "c", "ReplicaSet", "new")})
	}
	fleet, assumed, err := sim.NewRecordedFleet(sim.Recorded{Recording: l.record(t, 6)})
	if err != nil || assumed.Unmeasured != 3 {
		t.Fatalf("assumed %+v, %v", assumed, err)
	}
	for pod, want := range map[int]string{
		0: "520 520 520 530 530 550", // known from reading 2 on, except in reading 4
		9: "500 500 500 500 500 500", // never known, nor for any similar pod, so its request is used
	} {
		var got []string
		for step := range 6 {
			got = append(got, fmt.Sprint(fleet.Replicas[pod].Demand(step)[cluster.CPU]))
		}
		if all := strings.Join(got, " "); all != want {
			t.Errorf("pod %d uses %s, want %s", pod, all, want)
		}
	}
	if mean := fleet.Replicas[1].Demand(0)[cluster.CPU]; mean < 500 || mean > 560 || mean != fleet.Replicas[1].Demand(5)[cluster.CPU] {
		t.Errorf("a replica that was never measured uses %d milli-cores, want what the others do on average", mean)
	}
}

// Recordings with shorter intervals result in the same steps, unless each reading is played as a
// step.
func TestRecordedIntervals(t *testing.T) {
	rec := crowd(time.Minute).record(t, 12)
	fleet, _, err := sim.NewRecordedFleet(sim.Recorded{Recording: rec})
	if err != nil || fleet.Steps != 3 {
		t.Fatalf("%d steps of twelve minutes, %v", fleet.Steps, err)
	}
	if first, last := fleet.Replicas[0].Demand(0)[cluster.CPU], fleet.Replicas[0].Demand(2)[cluster.CPU]; first != 540 || last != 610 {
		t.Errorf("the first step has %d, the last %d milli-cores, want the means at their ends, 540 and 610", first, last)
	}
	stretched, _, err := sim.NewRecordedFleet(sim.Recorded{Recording: rec, Stretch: true})
	if err != nil || stretched.Steps != 12 || stretched.Replicas[0].Demand(1)[cluster.CPU] != 510 {
		t.Errorf("stretched: %d steps, %v", stretched.Steps, err)
	}
}

func TestRecordedRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		rec  *recording.Recording
		want string
	}{
		"one reading": {crowd(sim.Step).record(t, 1), "two steps"},
		"a minute":    {crowd(time.Minute).record(t, 2), "two steps"},
		"no pods": {(&live{interval: sim.Step, nodes: crowd(0).nodes, pods: func(int) []recording.PodReading { return nil }}).record(t, 3),
			"no pod"},
		"no nodes": {(&live{interval: sim.Step, pods: func(int) []recording.PodReading { return nil }}).record(t, 3), "no node"},
	} {
		t.Run(name, func(t *testing.T) {
			if fleet, _, err := sim.NewRecordedFleet(sim.Recorded{Recording: tc.rec}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("made %v, %v; want %q", fleet, err, tc.want)
			}
		})
	}
}
