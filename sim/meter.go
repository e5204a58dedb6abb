package sim

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// meter adds up what nodes and pods use.
type meter struct {
	capacity cluster.Amounts
	// now is what each node's pods demand in the step, by the time they spend on it.
	now []cluster.Percents
	// lost is what replicas would have used while they had no running pod.
	lost cluster.Percents
	// past holds what each node was measured at, a row per step, nodes in order: at most what it has.
	past [][]cluster.Amounts
	// demands holds what each node was asked for, in percent of what it has.
	demands [][]cluster.Percents
}

func newMeter(fleet *Fleet) *meter {
	return &meter{capacity: fleet.Capacity, now: make([]cluster.Percents, fleet.Nodes)}
}

// leaves charges a node with what a pod used on it until now.
func (m *meter) leaves(r *replica, offset time.Duration) {
	m.charge(r, max(0, offset-r.from))
	m.lose(r, min(r.from, offset))
}

func (m *meter) charge(r *replica, d time.Duration) {
	share := float64(d) / float64(Step)
	for k := range r.demand {
		m.now[r.node][k] += share * float64(r.demand[k])
	}
}

// lose notes what a replica could not use.
func (m *meter) lose(r *replica, d time.Duration) {
	share := float64(d) / float64(Step)
	for k := range r.demand {
		m.lost[k] += share * float64(r.demand[k])
	}
}

// end closes a step.
func (m *meter) end(w *world) {
	for i := range w.replicas {
		r := &w.replicas[i]
		if r.node < 0 {
			m.lose(r, Step)
			continue
		}
		m.charge(r, max(0, Step-r.from))
		m.lose(r, min(r.from, Step))
	}
	measured := make([]cluster.Amounts, len(m.now))
	demands := make([]cluster.Percents, len(m.now))
	for i := range m.now {
		for k := range m.now[i] {
			measured[i][k] = min(int64(m.now[i][k]), m.capacity[k])
			demands[i][k] = 100 * m.now[i][k] / float64(m.capacity[k])
		}
		m.now[i] = cluster.Percents{}
	}
	m.past, m.demands = append(m.past, measured), append(m.demands, demands)
}
