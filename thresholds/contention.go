package thresholds

import (
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
)

// Contention belongs to no pod, but to the CPU usage of all. It is next to
// nothing on a node that is cool by CPU, and rises ever more steeply above. A
// straight line from there to where a node is now is therefore nowhere below
// it: what has to leave by that line is enough, and pods that have left take at
// least their part of it with them, out of every window at once.

// findCalm sets, for the contention of a pool, up to which CPU usage nobody
// contends: the low line of each window, 0 where there is none.
func (p *pool) findCalm(windows int) {
	of := func(metric usage.Metric) int {
		return slices.IndexFunc(p.groups, func(g group) bool { return g.metric == metric })
	}
	contention, cpu := of(usage.CPUContention), of(usage.CPU)
	if contention < 0 || p.groups[contention].resource != cluster.CPU {
		return
	}
	calm := make([]float64, windows)
	if cpu >= 0 {
		for _, one := range p.groups[cpu].rules {
			calm[one.window] = max(one.levels.Low, 0)
		}
	}
	p.groups[contention].calm = calm
}

// contending returns how much of a CPU usage contends with others.
func (r *Resolved) contending(i int, g *group, window int, used cluster.Amounts) int64 {
	whole := r.view.Snapshot.Nodes[i].Node.Allocatable[cluster.CPU]
	return max(used[cluster.CPU]-ceiling(g.calm[window], whole), 0)
}

// remaining is the share of a node's contention that is left without the pods
// that have gone since it was measured; 1 if it was not of its pods' making.
func (r *Resolved) remaining(i int, g *group, window int) float64 {
	read := &r.view.Nodes[i]
	if window >= len(read.Measured) || window >= len(read.Current) {
		return 1
	}
	before := r.contending(i, g, window, read.Measured[window])
	if before == 0 {
		return 1
	}
	return min(float64(r.contending(i, g, window, read.Current[window]))/float64(before), 1)
}

// Now returns what a node's metric is judged at over a window, and whether it
// is.
func (r *Resolved) Now(i int, metric usage.Metric, window usage.Window) (value float64, judged bool) {
	groups := r.pools[r.of[i]].groups
	w := r.view.WindowIndex(window)
	for k := range groups {
		if groups[k].metric == metric && w >= 0 {
			return r.value(i, &groups[k], w, r.view.Nodes[i].Current), true
		}
	}
	return 0, false
}
