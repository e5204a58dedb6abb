package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// oracle places pods with knowledge of their future usage.
type oracle struct {
	world *world
	tally *tally
	steps int // number of steps of the run
}

// arrange distributes all replicas by their usage in the coming hour. It starts with
// those that use most, and puts each on the node with the least load so far. Its moves
// cost nothing, so no real balancer can reach its result.
func (o *oracle) arrange(step int, now time.Time) error {
	w := o.world
	loads, coming := o.coming(step)
	var order []int
	for i := range w.replicas {
		if w.replicas[i].Fixed && w.replicas[i].node >= 0 {
			loads[w.replicas[i].node] = plus(loads[w.replicas[i].node], coming[i])
		} else if w.replicas[i].Lives(step) && !w.replicas[i].Fixed {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(coming[b].Max(), coming[a].Max()) })
	weights := make([]cluster.Percents, len(w.nodes))
	for n := range weights {
		weights[n] = w.fleet.weight(n)
	}
	for _, i := range order {
		best := 0
		for n := range loads {
			if over(plus(loads[n], coming[i]), weights[n]).Max() < over(plus(loads[best], coming[i]), weights[best]).Max() {
				best = n
			}
		}
		loads[best] = plus(loads[best], coming[i])
		if err := o.shift(i, best, now); err != nil {
			return err
		}
	}
	return nil
}

// coming returns the usage of replicas and nodes in the hour that begins with a step, in
// percent of a mean-sized node. A node's usage is the part outside pods and beyond its
// reserve.
func (o *oracle) coming(step int) (nodes, replicas []cluster.Percents) {
	fleet := o.world.fleet
	nodes, replicas = make([]cluster.Percents, fleet.Nodes), make([]cluster.Percents, len(fleet.Replicas))
	for s := step; s < min(step+stepsPerHour, o.steps); s++ {
		for n := range nodes {
			nodes[n] = plus(nodes[n], fleet.beyondReserve(n, s).PercentOf(fleet.Capacity))
		}
		for i := range replicas {
			replicas[i] = plus(replicas[i], fleet.Replicas[i].Demand(s).PercentOf(fleet.Capacity))
		}
	}
	return nodes, replicas
}

// shift moves a replica to a node immediately.
func (o *oracle) shift(i, node int, now time.Time) error {
	w := o.world
	from := w.replicas[i].node
	if from == node {
		return nil
	}
	if from >= 0 {
		if err := w.detach(i); err != nil {
			return err
		}
		o.tally.moved(w.nodes[from].Name, w.nodes[node].Name, "", i)
	}
	return w.bind(i, w.newPod(i, now), w.nodes[node].Name, now)
}
