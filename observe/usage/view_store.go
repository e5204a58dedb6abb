package usage

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// View combines the store with a snapshot. expected, which may be nil, maps pod UIDs to
// usage that is known from elsewhere, such as the measured usage of the pod that a
// replacement replaces. View also adds the nodes' usage to their forecasts and remembers
// the usage of Deployments for their next versions.
func (s *Store) View(snapshot *cluster.Snapshot, now time.Time, expected map[string]cluster.Amounts) *View {
	r := reading{store: s, now: now, second: s.second(now), expected: expected}
	r.since = r.second - min(r.second, uint32(Avg5m.Over/time.Second))
	view := &View{
		At: now, Snapshot: snapshot, Windows: s.windows, Signals: s.metrics[cluster.NumResources:],
		Nodes: make([]NodeUsage, len(snapshot.Nodes)),
	}
	r.measurePods(view)
	view.Siblings = r.siblings()
	r.makeRoom(len(snapshot.Nodes))
	for i := range view.Nodes {
		r.node(view, i)
	}
	return view
}
