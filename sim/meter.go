package sim

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/sim/fairshare"
)

func newMeter(fleet *Fleet) *meter {
	return &meter{fleet: fleet, now: make([]cluster.Percents, fleet.Nodes), gone: map[int][]fairshare.Claim{}}
}

// leaves adds a pod's usage up to now to the node that it leaves.
func (m *meter) leaves(r *replica, offset time.Duration) {
	m.until(r, offset)
	m.gone[r.node] = append(m.gone[r.node], r.claim(offset))
	r.since = offset
}

// until adds up what a replica used, or could not use, between the last call and an
// offset within the step.
func (m *meter) until(r *replica, offset time.Duration) {
	if r.node < 0 {
		r.addTo(&m.lost, max(0, offset-r.since))
		return
	}
	r.addTo(&m.now[r.node], r.ran(offset))
	r.addTo(&m.lost, max(0, min(max(r.from, r.since), offset)-r.since))
}

// ran returns how long a replica's pod has run in the step, up to an offset.
func (r *replica) ran(offset time.Duration) time.Duration { return max(0, offset-max(r.from, r.since)) }

// addTo adds the replica's demand over a part of the step.
func (r *replica) addTo(sum *cluster.Percents, d time.Duration) {
	share := float64(d) / float64(Step)
	for k := range r.demand {
		sum[k] += share * float64(r.demand[k])
	}
}

// end finishes a step.
func (m *meter) end(w *world) {
	for i := range w.replicas {
		m.until(&w.replicas[i], Step)
		w.replicas[i].measured = w.replicas[i].demand
	}
	measured := make([]cluster.Amounts, len(m.now))
	demands := make([]cluster.Percents, len(m.now))
	for i := range m.now {
		system, machine := m.fleet.system(i, len(m.past)), &m.fleet.machines[i]
		covered := system.Minus(m.fleet.beyondReserve(i, len(m.past)))
		for k := range m.now[i] {
			m.now[i][k] += float64(system[k])
			measured[i][k] = min(int64(m.now[i][k]), machine.maxUsage[k])
			demands[i][k] = 100 * (m.now[i][k] - float64(covered[k])) / float64(machine.capacity[k])
		}
		if full := float64(machine.maxUsage[cluster.CPU]); m.byShare && m.now[i][cluster.CPU] > full {
			m.share(w, i, full-float64(system[cluster.CPU]))
		}
		m.now[i] = cluster.Percents{}
	}
	clear(m.gone)
	m.past, m.demands = append(m.past, measured), append(m.demands, demands)
}

// leastWeight is the weight of a pod without a request. The kubelet gives such a pod two
// shares, as for two milli-cores.
const leastWeight = 2

// claim returns what a replica's pod demanded of its node up to an offset
// within the step.
func (r *replica) claim(offset time.Duration) fairshare.Claim {
	return fairshare.Claim{
		Demand: float64(r.demand[cluster.CPU]), Weight: float64(max(r.Requests[cluster.CPU], leastWeight)),
		Ran: float64(r.ran(offset)) / float64(Step),
	}
}

// share measures the pods of a full node by their shares of the given milli-cores. Usage
// outside pods is assumed to be served first.
func (m *meter) share(w *world, node int, milliCores float64) {
	claims := m.gone[node]
	for _, pod := range w.assigned[node] {
		claims = append(claims, w.replicas[w.byUID[pod.UID]].claim(Step))
	}
	level := fairshare.Level(claims, milliCores)
	for _, pod := range w.assigned[node] {
		r := &w.replicas[w.byUID[pod.UID]]
		r.measured[cluster.CPU] = int64(min(float64(r.demand[cluster.CPU]), level*r.claim(Step).Weight))
	}
}
