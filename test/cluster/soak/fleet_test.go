package soak

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func shape() Shape {
	return Shape{
		Nodes: 20, Pods: 300, Deployments: 10, Node: Amounts{CPUMilli: 32000, MemoryBytes: 256 << 30},
		MeanCPUPercent: 40, MeanMemoryPercent: 30, Seed: 7,
	}
}

func fleetAndLoad(t *testing.T, cpu *Trace) ([]Deployment, *Load) {
	t.Helper()
	memory := GenerateMemory(300, 7)
	fleet, err := NewFleet(shape(), MeanPercent(cpu), MeanPercent(memory))
	if err != nil {
		t.Fatal(err)
	}
	load, err := NewLoad(LoadConfig{Fleet: fleet, CPU: cpu, Memory: memory, Step: time.Minute, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	return fleet, load
}

// Over a whole round of the traces, the fleet's mean usage is that of its shape, however few series
// there are.
func TestFleetUsesTheMeansOfItsShape(t *testing.T) {
	for name, series := range map[string]int{"a series each": 300, "three replicas to a series": 100} {
		t.Run(name, func(t *testing.T) {
			fleet, load := fleetAndLoad(t, GenerateCPU(series, 7))
			var sum Amounts
			for step := range generatedSteps {
				for i := range sizeOf(fleet) {
					sum = sum.plus(load.At(i, time.Duration(step)*time.Minute))
				}
			}
			nodes := int64(shape().Nodes * generatedSteps)
			cpu := percent(sum.CPUMilli, nodes*shape().Node.CPUMilli)
			memory := percent(sum.MemoryBytes, nodes*shape().Node.MemoryBytes)
			// 300 series are few, they differ widely, and their assignment is random.
			if math.Abs(cpu-40) > 6 || math.Abs(memory-30) > 3 {
				t.Errorf("mean usage %.1f %% of CPU and %.1f %% of memory, want about 40 and 30", cpu, memory)
			}
		})
	}
}

func TestFleetIsTheSameForTheSameSeed(t *testing.T) {
	first, firstLoad := fleetAndLoad(t, GenerateCPU(300, 7))
	second, secondLoad := fleetAndLoad(t, GenerateCPU(300, 7))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("fleets of one seed differ (-first +second):\n%s", diff)
	}
	for i := range 300 {
		at := time.Duration(i) * 17 * time.Second
		if a, b := firstLoad.At(i, at), secondLoad.At(i, at); a != b {
			t.Fatalf("replica %d after %v: %v and %v", i, at, a, b)
		}
	}
}

func TestSizesAddUpAndDecline(t *testing.T) {
	for name, tc := range map[string]struct{ pods, deployments int }{
		"the hour":          {4000, 100},
		"two each":          {200, 100},
		"one of all":        {50, 1},
		"a few over":        {207, 100},
		"hardly to be told": {13, 6},
	} {
		t.Run(name, func(t *testing.T) {
			all, sum := sizes(tc.pods, tc.deployments), 0
			for i, n := range all {
				sum += n
				if n < minReplicas || i > 0 && n > all[i-1] {
					t.Errorf("sizes %v: the one at %d is too small or larger than the one before", all, i)
				}
			}
			if sum != tc.pods || len(all) != tc.deployments {
				t.Errorf("%d pods in %d Deployments, want %d in %d", sum, len(all), tc.pods, tc.deployments)
			}
		})
	}
}

func TestImpossibleShapes(t *testing.T) {
	for name, spoil := range map[string]func(*Shape){
		"one node":          func(s *Shape) { s.Nodes = 1 },
		"single replicas":   func(s *Shape) { s.Deployments = 299 },
		"nodes overcrowded": func(s *Shape) { s.Pods = 2001 },
		"no size":           func(s *Shape) { s.Node = Amounts{} },
		"nothing used":      func(s *Shape) { s.MeanCPUPercent = 0 },
		"not a number":      func(s *Shape) { s.MeanMemoryPercent = math.NaN() },
	} {
		t.Run(name, func(t *testing.T) {
			s := shape()
			spoil(&s)
			if _, err := NewFleet(s, 10, 10); err == nil {
				t.Errorf("shape %+v is accepted", s)
			}
		})
	}
	if _, err := NewFleet(shape(), 0, 10); err == nil {
		t.Error("a trace of zeros is accepted")
	}
}

func TestPlaceEvensOutRequests(t *testing.T) {
	fleet, _ := fleetAndLoad(t, GenerateCPU(300, 7))
	nodes := []string{"a", "b", "c", "d"}
	asked, placed := map[string]int64{}, 0
	for i, on := range Place(fleet, nodes, shape().Node) {
		for node, pods := range on {
			asked[node] += int64(pods) * (fleet[i].Request.CPUMilli*(256<<30)/32000 + fleet[i].Request.MemoryBytes)
			placed += pods
		}
	}
	if placed != 300 {
		t.Errorf("%d pods placed, want 300", placed)
	}
	for _, node := range nodes {
		if off := float64(asked[node])/float64(asked["a"]) - 1; math.Abs(off) > 0.05 {
			t.Errorf("requests on node %s are %.0f %% higher than on node a", node, 100*off)
		}
	}
}

// A replica changes once per step, but not all replicas change at the same time.
func TestReplicasChangeAtDifferentTimes(t *testing.T) {
	trace := &Trace{Series: [][]float32{{10, 20, 30, 40}}}
	_, load := fleetAndLoad(t, trace)
	when := map[int]bool{}
	for i := range 300 {
		changes, before := 0, load.At(i, 0).CPUMilli
		for second := range 60 {
			if now := load.At(i, time.Duration(second+1)*time.Second).CPUMilli; now != before {
				changes, before = changes+1, now
				when[second] = true
			}
		}
		if changes != 1 {
			t.Fatalf("replica %d changes %d times a minute", i, changes)
		}
	}
	if len(when) < 50 {
		t.Errorf("300 replicas change in only %d of 60 seconds", len(when))
	}
}

func TestChanged(t *testing.T) {
	const mib = 1 << 20
	for name, tc := range map[string]struct {
		from, to Amounts
		want     bool
	}{
		"the same":                       {Amounts{1000, 100 * mib}, Amounts{1000, 100 * mib}, false},
		"less than 5 % of CPU":           {Amounts{1000, 100 * mib}, Amounts{1050, 100 * mib}, false},
		"more than 5 % of CPU":           {Amounts{1000, 100 * mib}, Amounts{1051, 100 * mib}, true},
		"much less CPU":                  {Amounts{1000, 100 * mib}, Amounts{900, 100 * mib}, true},
		"a lot of next to nothing":       {Amounts{2, 100 * mib}, Amounts{9, 100 * mib}, false},
		"more memory":                    {Amounts{1000, 100 * mib}, Amounts{1000, 109 * mib}, true},
		"memory that nobody would miss":  {Amounts{1000, 10 * mib}, Amounts{1000, 17 * mib}, false},
		"from nothing, as of a new pod ": {Amounts{}, Amounts{1000, mib}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Changed(tc.from, tc.to); got != tc.want {
				t.Errorf("changed %v, want %v", got, tc.want)
			}
		})
	}
}

// The excess of the heavy ones goes to the light ones. Of 100, two of weight 9 and eight of weight
// 1 with a cap of 20 get 2 × 20 and 8 × 7.5.
func TestAllocationsReachTheSumUnderTheCap(t *testing.T) {
	fleet := []Deployment{{Replicas: 2}, {Replicas: 8}}
	weights := []float64{9, 1}
	if diff := cmp.Diff([]int64{20000, 7500}, allocations(fleet, weights, 100_000, 20_000)); diff != "" {
		t.Errorf("allocations (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{20000, 20000}, allocations(fleet, weights, 1_000_000, 20_000)); diff != "" {
		t.Errorf("allocations where the sum cannot be reached (-want +got):\n%s", diff)
	}
}
