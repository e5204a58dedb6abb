package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/strategies"
)

// recurs returns a pattern with this level in milli-cores and a burst at some hour.
func recurs(rng *rand.Rand, level, most float32) *forecast.Pattern {
	p := &forecast.Pattern{Periods: 7, Off: 3e4, Spread: 1e5}
	for i := range p.Means {
		p.Means[i] = level
	}
	from := rng.IntN(forecast.Parts)
	for k := range 6 {
		p.Means[(from+k)%forecast.Parts] = most
	}
	return p
}

// BenchmarkPlanAhead makes a plan for 5,000 nodes whose pods all recur.
func BenchmarkPlanAhead(b *testing.B) {
	const nodes = 5000
	for _, pods := range []int{30, 110} {
		b.Run(fmt.Sprintf("%d pods on a node", pods), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 2))
			in := Input{Placement: anywhere{}, MinHotMinutesSaved: 10, Recurs: daily, At: midnight, MaxMoves: 100}
			share := float32(32000) / float32(pods)
			for i := range nodes {
				n := Node{Name: fmt.Sprintf("node-%05d", i), Allocatable: cluster.Amounts{32000, 256 << 30}, State: thresholds.Cool, Course: new(forecast.Course), Zone: string(rune('a' + i%3))}
				hot := i%50 == 0
				level, most := share*0.40, share*0.6
				if hot {
					most = share * 2
				}
				var all []strategies.Pod
				for k := range pods {
					name := fmt.Sprintf("workload-%05d-%02d", i, k)
					pod := strategies.Pod{
						Pod:   &cluster.Pod{UID: name, Namespace: "ns", Name: name, Node: n.Name},
						Usage: cluster.Amounts{int64(level), 1 << 20}, Pattern: forecast.PodPattern{Pattern: recurs(rng, level, most)},
					}
					pod.Expected = forecast.Constant(pod.Usage[cluster.CPU])
					n.Course.Add(pod.Expected, pod.Pattern)
					n.Predicted = n.Predicted.Plus(pod.Usage)
					all = append(all, pod)
				}
				if hot {
					n.Course.Shift(4000)
					n.Pods = all
				}
				n.Certain = n.Course
				in.Nodes = append(in.Nodes, n)
			}
			shipped().on(in.Nodes)
			for b.Loop() {
				New(in)
			}
		})
	}
}

// BenchmarkPlanWhereAllWillBeHot makes a plan for a cluster in which many nodes are hot now and all
// others will be at some hour. In one case, no move is worthwhile, so that the nodes are examined
// again in each cycle.
func BenchmarkPlanWhereAllWillBeHot(b *testing.B) {
	for _, recurring := range []bool{false, true} {
		for _, asked := range []float64{0, 60} {
			b.Run(fmt.Sprintf("recurs=%v/asked=%vm", recurring, asked), func(b *testing.B) {
				in := settled(fleet(5000, 45))
				in.Recurs, in.At, in.MaxMoves, in.MinHotMinutesSaved = daily, midnight, 100, asked
				rng := rand.New(rand.NewPCG(1, 2))
				for i := range in.Nodes {
					if n := &in.Nodes[i]; n.State == thresholds.Cool && recurring {
						n.Course = new(forecast.Course)
						n.Course.Add(forecast.Constant(100), forecast.PodPattern{Pattern: recurs(rng, 100, 30000)})
					}
				}
				for b.Loop() {
					New(in)
				}
			})
		}
	}
}
