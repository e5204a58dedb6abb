// Package saved tells what moves have really saved: by how many minutes their
// source and destination were hot for less than they would have been with the pod
// where it was, by what its replacement used.
package saved

import (
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/forecast"
)

// longestGap is how much time may pass between two views. After more, as after a
// term of another leader, all begins anew: what was between is not known.
const longestGap = 2 * time.Minute

// Watch adds up what landed moves save. It holds nothing but the moves that the
// ledger has. The zero value is ready; it is safe for concurrent use.
type Watch struct {
	mu sync.Mutex
	// began and at are the times of the first and the last view without a gap.
	began, at time.Time
	saves     map[string]time.Duration // by the UID of the evicted pod
}

// Look takes account of a view and of the moves that have ended. It returns, in
// minutes, what those have saved that landed forecast.Horizon ago, or that the
// ledger no longer has.
func (w *Watch) Look(view *usage.View, lines *thresholds.Resolved, ended []ledger.Move) (minutes []float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	passed := view.At.Sub(w.at)
	switch {
	case passed <= 0:
		return nil
	case passed > longestGap:
		w.began, w.saves = view.At, nil
	}
	w.at = view.At
	watched := make(map[string]time.Duration, len(ended))
	for i := range ended {
		move := &ended[i]
		if move.State != ledger.Landed || view.At.Sub(move.Ended) >= forecast.Horizon {
			continue
		}
		if !move.Ended.Before(w.began) { // what landed before was not watched from the beginning
			watched[move.PodUID] = w.saves[move.PodUID] + time.Duration(hotter(view, lines, move))*passed
		}
	}
	for uid, saved := range w.saves {
		if _, still := watched[uid]; !still {
			minutes = append(minutes, saved.Minutes())
		}
	}
	w.saves = watched
	return minutes
}

// hotter returns how many more nodes would be hot without the move: -1 to 1.
func hotter(view *usage.View, lines *thresholds.Resolved, move *ledger.Move) (nodes int) {
	used := move.Usage[cluster.CPU]
	if i := view.Snapshot.Index(move.Node); i >= 0 {
		for j, pod := range view.Snapshot.Nodes[i].Pods {
			if pod.UID == move.Replacement && view.Nodes[i].Pods[j].Measured {
				used = view.Nodes[i].Pods[j].Used[cluster.CPU]
			}
		}
		nodes += hot(view, lines, i, -used) - hot(view, lines, i, 0)
	}
	if i := view.Snapshot.Index(move.From); i >= 0 {
		nodes += hot(view, lines, i, used) - hot(view, lines, i, 0)
	}
	return nodes
}

// hot returns 1 if a known node would be above its evict line of CPU with so much
// more usage, else 0.
func hot(view *usage.View, lines *thresholds.Resolved, i int, more int64) int {
	node := &view.Nodes[i]
	if node.Known() && node.Current[usage.AtAvg5m][cluster.CPU]+more > lines.HotLine(i, cluster.CPU) {
		return 1
	}
	return 0
}
