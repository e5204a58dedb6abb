// Package saved measures how much hot time moves have actually saved, compared with
// leaving the moved pods on their nodes. It uses the usage of the replacements.
package saved

import (
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// longestGap is the longest time that may pass between two views. After a longer gap,
// such as another leader's term, everything starts over, because the usage in between is
// unknown.
const longestGap = 2 * time.Minute

// Watch adds up the hot time that landed moves save. It keeps only moves that are in the
// ledger. The zero value is ready for use. It is safe for concurrent use.
type Watch struct {
	mu sync.Mutex
	// began and at are the times of the first and the last view in a series
	// without gaps.
	began, at time.Time
	watched   map[string]progress // by the UID of the evicted pod
}

// progress is the hot time that a move has saved so far, and the time for which it was
// watched.
type progress struct {
	saved   float64 // minutes
	watched time.Duration
}

// SoFar returns the hot time that the watched moves have saved so far, by the UID of the
// evicted pod.
func (w *Watch) SoFar() map[string]ledger.Saved {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[string]ledger.Saved, len(w.watched))
	for uid, p := range w.watched {
		all[uid] = ledger.Saved{HotMinutes: p.saved, Watched: p.watched.Minutes()}
	}
	return all
}

// Look evaluates a view and the moves that have ended. For each move whose evaluation is
// over, or that is no longer in the ledger, it returns the hot minutes saved.
func (w *Watch) Look(view *usage.View, lines *thresholds.Resolved, ended []ledger.Move) (minutes []float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	passed := view.At.Sub(w.at)
	switch {
	case passed <= 0:
		return nil
	case passed > longestGap:
		w.began, w.watched, passed = view.At, nil, 0
	}
	w.at = view.At
	var moves []*ledger.Move
	for i := range ended {
		// A move that landed before w.began was not watched from the beginning.
		if m := &ended[i]; m.State == ledger.Landed && view.At.Sub(m.Ended) < within(m) && !m.Ended.Before(w.began) {
			moves = append(moves, m)
		}
	}
	watched := make(map[string]progress, len(moves))
	for uid, share := range shares(view, lines, moves) {
		p := w.watched[uid]
		watched[uid] = progress{p.saved + share*passed.Minutes(), p.watched + passed}
	}
	for uid, p := range w.watched {
		if _, still := watched[uid]; !still {
			minutes = append(minutes, p.saved)
		}
	}
	w.watched = watched
	return minutes
}

// within returns the time within which a move was expected to save hot time.
func within(m *ledger.Move) time.Duration {
	if m.Decision == nil {
		return forecast.Horizon
	}
	return max(forecast.Horizon, time.Duration(m.Decision.WithinMinutes*float64(time.Minute)))
}

// onNode describes how moves have changed a node. gone holds the pods that would be on it
// without the moves, and came those that would not.
type onNode struct{ gone, came []placed }

// placed is the pod of a move with its CPU usage.
type placed struct {
	uid  string // of the evicted pod
	used int64
}

// shares returns each move's share of the effect on nodes: positive for a node that would
// be hot without the moves, negative for a node that they made hot. The moves of one node
// share its effect in proportion to their usage. A pod that was moved twice is assumed to
// be on its first node without the moves.
func shares(view *usage.View, lines *thresholds.Resolved, moves []*ledger.Move) map[string]float64 {
	of, nodes := make(map[string]float64, len(moves)), map[string]onNode{}
	next, again := make(map[string]*ledger.Move, len(moves)), make(map[string]bool, len(moves)) // by the evicted pod
	for _, m := range moves {
		of[m.PodUID], next[m.PodUID], again[m.Replacement] = 0, m, true
	}
	for _, m := range moves {
		last := m
		for steps := 0; next[last.Replacement] != nil && steps < len(moves); steps++ {
			last = next[last.Replacement]
		}
		pod := placed{m.PodUID, uses(view, last)}
		if from := nodes[m.From]; !again[m.PodUID] {
			from.gone = append(from.gone, pod)
			nodes[m.From] = from
		}
		if to := nodes[m.Node]; last == m {
			to.came = append(to.came, pod)
			nodes[m.Node] = to
		}
	}
	for name, node := range nodes {
		if i := view.Snapshot.Index(name); i >= 0 {
			node.share(of, view, lines, i)
		}
	}
	return of
}

// share adds the effect on one node to the shares of its moves.
func (n *onNode) share(of map[string]float64, view *usage.View, lines *thresholds.Resolved, i int) {
	gone, came := total(n.gone), total(n.came)
	switch is, would := hot(view, lines, i, 0), hot(view, lines, i, gone-came); {
	case would && !is:
		for _, p := range n.gone {
			of[p.uid] += float64(p.used) / float64(gone)
		}
	case is && !would:
		for _, p := range n.came {
			of[p.uid] -= float64(p.used) / float64(came)
		}
	}
}

func total(pods []placed) (used int64) {
	for _, p := range pods {
		used += p.used
	}
	return used
}

// uses returns the CPU usage of a move's replacement, or the usage of its predecessor
// until the replacement is measured; 0 if the replacement no longer exists.
func uses(view *usage.View, m *ledger.Move) int64 {
	i := view.Snapshot.Index(m.Node)
	if i < 0 {
		return 0
	}
	for j, pod := range view.Snapshot.Nodes[i].Pods {
		if pod.UID != m.Replacement {
			continue
		}
		if view.Nodes[i].Pods[j].Measured {
			return view.Nodes[i].Pods[j].Used[cluster.CPU]
		}
		return m.Usage[cluster.CPU]
	}
	return 0
}

// hot reports whether a known node would be above its CPU evict line with more
// additional usage.
func hot(view *usage.View, lines *thresholds.Resolved, i int, more int64) bool {
	node := &view.Nodes[i]
	return node.Known() && node.Current[usage.AtAvg5m][cluster.CPU]+more > lines.HotLine(i, cluster.CPU)
}
