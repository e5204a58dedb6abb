package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/strategies"
)

const benchPods = 30

// anywhere is a Placement that accepts every pod on every node.
type anywhere struct{}

func (anywhere) Scores(*cluster.Pod, []string) []int64 { return nil }

func (anywhere) Fits(*cluster.Pod, string) (bool, string) { return true, "" }

func (anywhere) Move(*cluster.Pod, string) (func(), error) { return func() {}, nil }

// fleet returns a cluster of 32-core nodes with 30 pods each. A tenth is hot and can be cooled by
// about 7 moves. The usage of the others is the given percentage.
func fleet(nodes int, coolPercent int64) Input {
	rng := rand.New(rand.NewPCG(7, 8))
	in := Input{Placement: anywhere{}, MinHotMinutesSaved: 10}
	for i := range nodes {
		n := Node{Name: fmt.Sprintf("node-%05d", i), Allocatable: cluster.Amounts{32000, 256 << 30}, State: thresholds.Cool}
		n.Predicted = cluster.Amounts{32000*coolPercent/100 - rng.Int64N(3200), 64 << 30}
		if i%10 == 0 {
			n.State, n.Predicted, n.ByCPU = thresholds.Hot, cluster.Amounts{}, true
			for k := range benchPods {
				name := fmt.Sprintf("workload-%05d-%02d", i, k)
				used := cluster.Amounts{850 + rng.Int64N(400), 2 << 30}
				n.Pods = append(n.Pods, strategies.Pod{
					Pod:        &cluster.Pod{UID: name, Namespace: "ns", Name: name, Node: n.Name, Priority: int32(k % 3)},
					Usage:      used,
					Disruption: strategies.Disruption{Order: int64(k % 4)},
				})
				n.Current = n.Current.Plus(used)
			}
			// 7 pods of about 1050m exceed the evict line of 65 %.
			n.Current[cluster.CPU] = 20800 + 7*1050 - 200
			n.Predicted = n.Current
		}
		in.Nodes = append(in.Nodes, n)
	}
	shipped().on(in.Nodes)
	return in
}

// settled gives a fleet three zones, owners with 50 pods, some of them on cool nodes, and pods of
// all costs.
func settled(in Input) Input {
	rng := rand.New(rand.NewPCG(9, 10))
	in.Residents = Residents{}
	for i := range in.Nodes {
		n := &in.Nodes[i]
		n.Zone = string(rune('a' + i%3))
		for k := range n.Pods {
			pod := &n.Pods[k]
			pod.Owner.UID = fmt.Sprintf("owner-%05d", rng.IntN(3*len(in.Nodes)/5))
			pod.Disruption.Quarters = []int{4, 4, 4, 5, 8, 12}[rng.IntN(6)]
			for range 20 {
				in.Residents[strategies.OwnerOf(pod.Pod)] = append(in.Residents[strategies.OwnerOf(pod.Pod)], cluster.NodeIndex(rng.IntN(len(in.Nodes))))
			}
		}
	}
	return in
}

// packed returns a cluster of 64-core nodes of which a tenth is at 86%. Pods have similar sizes or,
// if mixed is set, different costs.
func packed(nodes, perNode int, mixed bool) Input {
	rng := rand.New(rand.NewPCG(11, 12))
	in := Input{Placement: anywhere{}, MinHotMinutesSaved: 10, MinGainPercent: 0.5}
	for i := range nodes {
		n := Node{Name: fmt.Sprintf("node-%05d", i), Allocatable: cluster.Amounts{64000, 256 << 30}, State: thresholds.Cool}
		n.Predicted = cluster.Amounts{25600, 64 << 30}
		if i%10 == 0 {
			n.State, n.Predicted, n.ByCPU = thresholds.Hot, cluster.Amounts{}, true
			for k := range perNode {
				name := fmt.Sprintf("workload-%05d-%03d", i, k)
				pod := strategies.Pod{
					Pod:   &cluster.Pod{UID: name, Namespace: "ns", Name: name, Node: n.Name},
					Usage: cluster.Amounts{(180 + rng.Int64N(80)) * 250 / int64(perNode), 128 << 30 / int64(perNode)},
				}
				if mixed {
					pod.Disruption.Quarters = []int{4, 4, 4, 5, 8, 12}[rng.IntN(6)]
				}
				n.Pods = append(n.Pods, pod)
				n.Current = n.Current.Plus(pod.Usage)
			}
			n.Predicted = n.Current
		}
		in.Nodes = append(in.Nodes, n)
	}
	shipped().on(in.Nodes)
	return in
}

// BenchmarkPlanPacked plans the relief of nodes with 30 to 250 pods, of which about a fifth have to
// leave.
func BenchmarkPlanPacked(b *testing.B) {
	for _, mixed := range []bool{false, true} {
		for _, perNode := range []int{30, 60, 110, 250} {
			for _, nodes := range []int{100, 1000} {
				b.Run(fmt.Sprintf("mixed=%v/pods=%d/nodes=%d", mixed, perNode, nodes), func(b *testing.B) {
					in := packed(nodes, perNode, mixed)
					var plan strategies.Plan
					b.ReportAllocs()
					for b.Loop() {
						plan = New(in)
					}
					b.ReportMetric(float64(len(plan.Moves)), "moves")
				})
			}
		}
	}
}

// BenchmarkPlan plans with space on all cool nodes, with space for a part of the moves, and with
// none, and then with owners, zones and costs.
func BenchmarkPlan(b *testing.B) {
	plain := func(in Input) Input { return in }
	for _, room := range []struct {
		name        string
		coolPercent int64
		as          func(Input) Input
	}{{"room", 45, plain}, {"crowded", 59, plain}, {"full", 64, plain}, {"settled", 45, settled}, {"settled-crowded", 59, settled}} {
		for _, nodes := range []int{100, 1000, 5000} {
			b.Run(fmt.Sprintf("%s/nodes=%d", room.name, nodes), func(b *testing.B) {
				in := room.as(fleet(nodes, room.coolPercent))
				var plan strategies.Plan
				b.ReportAllocs()
				for b.Loop() {
					plan = New(in)
				}
				b.ReportMetric(float64(len(plan.Moves)), "moves")
			})
		}
	}
}
