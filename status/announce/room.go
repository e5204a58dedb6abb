package announce

import (
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// The reasons of Events about space on nodes.
const (
	// roomMissing means that nodes stay hot because no cool node has space for enough of
	// their pods.
	roomMissing = "RoomMissing"
	// roomFound means that hot nodes no longer lack space.
	roomFound = "RoomFound"
)

// Room reports how much space hot nodes lack on other nodes. It is safe for concurrent
// use.
type Room struct {
	announcer     *Announcer
	cores, memory prometheus.Gauge

	mu sync.Mutex
	// lacking holds, by node name, the space that the node's pods lack on other nodes.
	lacking map[string]cluster.Amounts
}

// NewRoom registers the metrics.
func NewRoom(announcer *Announcer, registry prometheus.Registerer) *Room {
	factory := promauto.With(registry)
	return &Room{
		announcer: announcer,
		cores: factory.NewGauge(prometheus.GaugeOpts{
			Name: "evenkeel_missing_room_cpu_cores", Help: "CPU usage that hot nodes would have to lose but no other node can take, according to the last plan.",
		}),
		memory: factory.NewGauge(prometheus.GaugeOpts{
			Name: "evenkeel_missing_room_memory_bytes", Help: "Memory usage that hot nodes would have to lose but no other node can take, according to the last plan.",
		}),
	}
}

// Planned reports whether a plan found enough space. It writes an Event for the first
// plan that lacks space, and for the first one that finds enough again.
func (r *Room) Planned(plan *strategies.Plan) {
	r.mu.Lock()
	told := len(r.lacking) > 0
	r.lacking = lackingBy(plan, r.lacking)
	nodes, missing := len(r.lacking), cluster.Amounts{}
	for _, lacks := range r.lacking {
		missing = missing.Plus(lacks)
	}
	r.mu.Unlock()
	r.cores.Set(float64(missing[cluster.CPU]) / 1000)
	r.memory.Set(float64(missing[cluster.Memory]))
	switch {
	case nodes > 0 && !told:
		r.announcer.tell(v1.EventTypeWarning, roomMissing, fmt.Sprintf(
			"Nodes that stay hot, because cool nodes cannot take enough of their pods: %d; usage that would have to leave them: %s. More nodes, higher reject lines or looser placement rules of the pods would help.",
			nodes, missing.InWords()))
	case nodes == 0 && told:
		r.announcer.tell(v1.EventTypeNormal, roomFound, "No node stays hot for lack of space any longer.")
	}
}

// lackingBy returns the space that nodes lack according to a plan. A hot node that is not
// part of the plan keeps its previous value, because its pods may be blocked only
// temporarily, or other nodes may come first.
func lackingBy(plan *strategies.Plan, before map[string]cluster.Amounts) map[string]cluster.Amounts {
	now := map[string]cluster.Amounts{}
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		lacks := n.NoRoom
		if n.State == thresholds.Hot && n.Reason != "" && n.Reason != reasons.NoLanding {
			lacks = before[n.Name]
		}
		if lacks != (cluster.Amounts{}) {
			now[n.Name] = lacks
		}
	}
	return now
}
