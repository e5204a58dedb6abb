package plan

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// demands holds, by pod name, the demand of pods on each node's 1000 milli-cores, and the weights
// by which a full node shares its CPU among them.
type demands struct {
	nodes []map[string]int64
	known bool // unserved demand is estimated, and correctly

	at      time.Time
	created map[string]time.Time // times of pods that were moved
}

// crowded returns random nodes whose total demand for CPU exceeds their lines.
func crowded(rng *rand.Rand) *demands {
	nodes, sigma, perNode := 2+rng.IntN(5), rng.Float64()*1.5, 3+rng.IntN(30)
	mean := 0.55 + 0.7*rng.Float64()
	d := &demands{known: rng.IntN(2) == 0, at: time.Unix(1_800_000_000, 0), created: map[string]time.Time{}}
	sizes, total := make([][]float64, nodes), 0.0
	for i := range nodes {
		level := math.Exp(0.4 * rng.NormFloat64())
		for range 1 + rng.IntN(2*perNode) {
			size := level * math.Exp(sigma*rng.NormFloat64())
			sizes[i], total = append(sizes[i], size), total+size
		}
	}
	for i, of := range sizes {
		d.nodes = append(d.nodes, map[string]int64{})
		for k, size := range of {
			d.nodes[i][fmt.Sprintf("%d-%d", i, k)] = int64(size / total * mean * 1000 * float64(nodes))
		}
	}
	return d
}

func (d *demands) of(i int) (total int64) {
	for _, used := range d.nodes[i] {
		total += used
	}
	return total
}

func (d *demands) unserved() (total int64) {
	for i := range d.nodes {
		total += max(d.of(i)-1000, 0)
	}
	return total
}

func (d *demands) move(m *strategies.Move) {
	from, to := d.nodes[m.From[0]-'0'], d.nodes[m.To[0]-'0']
	to[m.Name], d.created[m.Name] = from[m.Name], d.at
	delete(from, m.Name)
}

// input returns the planner's view of the nodes.
func (d *demands) input() Input {
	in := Input{Placement: &refusing{}, MinHotMinutesSaved: 10, MinGainPercent: 0.5, At: d.at}
	for i, on := range d.nodes {
		total := d.of(i)
		var here []strategies.Pod
		for _, name := range slices.Sorted(maps.Keys(on)) {
			served := on[name]
			if total > 1000 {
				served = served * 1000 / total
			}
			more := int64(0)
			if d.known {
				more = on[name] - served
			}
			here = append(here, pod(name, cluster.Amounts{served, 1}, wanting(more)))
		}
		node := hot(fmt.Sprint(i), cluster.Amounts{}, here...)
		for k := range node.Pods {
			node.Pods[k].Created = d.created[node.Pods[k].Name]
		}
		if node.ByCPU = true; total >= 970 {
			node = stayingFull(node)
		}
		if node.Current[cluster.CPU] <= 650 {
			node.State, node.Pods = thresholds.Warm, nil
			if node.Current[cluster.CPU] <= 450 {
				node.State = thresholds.Cool
			}
		}
		in.Nodes = append(in.Nodes, node)
	}
	shipped().on(in.Nodes)
	return in
}

// While usage is steady, successive plans come to an end. Each plan serves no less than before, and
// no pod returns within the time for which moves are judged. In half of the clusters, the demand of
// pods is unknown.
func TestReliefOfCrowdedNodesSettles(t *testing.T) {
	const clusters, mostPlans, mostMoves = 150, 50, 3
	rng := rand.New(rand.NewPCG(5, 6))
	full := 0
	for c := range clusters {
		d, left, moves := crowded(rng), map[string]time.Time{}, map[string]int{}
		rests := false
		for plans := 0; ; plans++ {
			if plans == mostPlans {
				t.Fatalf("cluster %d: moves continue after %d plans", c, plans)
			}
			plan := New(d.input())
			if len(plan.Moves) == 0 {
				if rests {
					break
				}
				rests, d.at = true, d.at.Add(forecast.Horizon)
				continue
			}
			rests = false
			before := d.unserved()
			for _, m := range plan.Moves {
				if m.Reason == reasons.NodeFull {
					full++
				}
				if since, was := left[m.Name+"@"+m.To]; m.From == m.To || was && d.at.Sub(since) < forecast.Horizon {
					t.Errorf("cluster %d, plan %d: pod %s moves from %s back to %s", c, plans, m.Name, m.From, m.To)
				}
				if moves[m.Name]++; moves[m.Name] > mostMoves {
					t.Errorf("cluster %d, plan %d: pod %s moves %d times", c, plans, m.Name, moves[m.Name])
				}
				d.move(&m)
				left[m.Name+"@"+m.From] = d.at
			}
			if after := d.unserved(); after > before {
				t.Errorf("cluster %d, plan %d: %d milli-cores are not served, %d before", c, plans, after, before)
			}
			d.at = d.at.Add(5 * time.Minute)
		}
	}
	if full < clusters {
		t.Errorf("%d moves off full nodes in %d clusters: the test proves little", full, clusters)
	}
}
