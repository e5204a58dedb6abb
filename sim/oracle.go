package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// arrange puts every replica where the coming hour wants it: those with the most to use first, each on the node with the
// least to do by then. Moves are for nothing, so what it comes to is what no balancer reaches.
func (p *player) arrange(step int, now time.Time) error {
	w := p.world
	coming := make([]cluster.Percents, len(w.replicas))
	order := make([]int, len(w.replicas))
	for i := range w.replicas {
		order[i] = i
		for s := step; s < min(step+stepsPerHour, p.config.Steps); s++ {
			demand := w.replicas[i].Demand(s).PercentOf(w.fleet.Capacity)
			for k := range demand {
				coming[i][k] += demand[k]
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(largest(coming[b]), largest(coming[a])) })
	loads := make([]cluster.Percents, len(w.nodes))
	for _, i := range order {
		best := 0
		for n := range loads {
			if largest(plus(loads[n], coming[i])) < largest(plus(loads[best], coming[i])) {
				best = n
			}
		}
		loads[best] = plus(loads[best], coming[i])
		if err := p.shift(i, best, now); err != nil {
			return err
		}
	}
	return nil
}

func largest(p cluster.Percents) float64 { return max(p[cluster.CPU], p[cluster.Memory]) }

func plus(a, b cluster.Percents) cluster.Percents {
	for k := range a {
		a[k] += b[k]
	}
	return a
}

// shift moves a replica to a node at once.
func (p *player) shift(i, node int, now time.Time) error {
	w := p.world
	from := w.replicas[i].node
	if from == node {
		return nil
	}
	if from >= 0 {
		if err := w.detach(i); err != nil {
			return err
		}
		p.tally.moved(w.nodes[from].Name, w.nodes[node].Name, "", i)
	}
	return w.bind(i, w.newPod(i, now), w.nodes[node].Name, now)
}
