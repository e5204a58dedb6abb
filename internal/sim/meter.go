package sim

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

func newMeter(fleet *Fleet) *meter {
	return &meter{fleet: fleet, now: make([]cluster.Percents, fleet.Nodes)}
}

// leaves charges a pod's usage up to now to the node that it leaves.
func (m *meter) leaves(r *replica, offset time.Duration) {
	m.until(r, offset)
	r.since = offset
}

// until adds up what a replica used, or could not use, since the last call up
// to an offset of the step.
func (m *meter) until(r *replica, offset time.Duration) {
	if r.node < 0 {
		m.lose(r, max(0, offset-r.since))
		return
	}
	from := max(r.from, r.since)
	m.charge(r, max(0, offset-from))
	m.lose(r, max(0, min(from, offset)-r.since))
}

func (m *meter) charge(r *replica, d time.Duration) {
	share := float64(d) / float64(Step)
	for k := range r.demand {
		m.now[r.node][k] += share * float64(r.demand[k])
	}
}

// lose records what a replica could not use.
func (m *meter) lose(r *replica, d time.Duration) {
	share := float64(d) / float64(Step)
	for k := range r.demand {
		m.lost[k] += share * float64(r.demand[k])
	}
}

// end closes a step.
func (m *meter) end(w *world) {
	for i := range w.replicas {
		m.until(&w.replicas[i], Step)
	}
	measured := make([]cluster.Amounts, len(m.now))
	demands := make([]cluster.Percents, len(m.now))
	for i := range m.now {
		system, machine := m.fleet.system(i, len(m.past)), &m.fleet.machines[i]
		for k := range m.now[i] {
			m.now[i][k] += float64(system[k])
			measured[i][k] = min(int64(m.now[i][k]), machine.maxUsage[k])
			demands[i][k] = 100 * m.now[i][k] / float64(machine.capacity[k])
		}
		m.now[i] = cluster.Percents{}
	}
	m.past, m.demands = append(m.past, measured), append(m.demands, demands)
}
