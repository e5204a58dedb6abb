package scorer

import (
	"sync/atomic"

	"github.com/evenkeel/evenkeel/cluster"
)

// gauge holds exactly what a request reads of a node. A request asks about
// thousands of nodes, and fetching one cache line for each is most of its cost.
// Its methods name the two resources instead of looping over them, and take the
// amounts as separate arguments, because arrays stay in memory and numbers in
// registers. That halves the cost per node.
type gauge struct {
	// used is the predicted usage including all later changes: pods bound or gone,
	// moves reserved or released.
	used [cluster.NumResources]atomic.Int64
	// ceiling is the highest predicted usage allowed. perUnit is one unit of
	// usage in percent, so that requests multiply instead of dividing.
	ceiling cluster.Amounts
	perUnit cluster.Percents
	// rises is how much more CPU the node is expected to use when it is busiest.
	// It affects the node's score, but not whether the node is full.
	rises int64
	known bool
	_     [7]byte
}

// A third resource would have to be added below.
var _ [2]struct{} = [cluster.NumResources]struct{}{}

func (g *gauge) set(predicted, ceiling, allocatable cluster.Amounts, known bool) {
	for r := range predicted {
		g.used[r].Store(predicted[r])
	}
	g.ceiling, g.perUnit, g.known = ceiling, cluster.Amounts{1, 1}.PercentOf(allocatable), known
}

// takes reports whether the node stays at or under its ceiling with the
// additional usage.
func (g *gauge) takes(cpuMilli, memBytes int64) bool {
	return !g.known || g.used[cluster.CPU].Load()+cpuMilli <= g.ceiling[cluster.CPU] &&
		g.used[cluster.Memory].Load()+memBytes <= g.ceiling[cluster.Memory]
}

// load combines the predicted percentages, including the additional usage, into
// one figure: half the dominant resource, half the mean weighted by cpuShare
// and memShare. CPU counts as expected when the node is busiest.
func (g *gauge) load(cpuMilli, memBytes int64, cpuShare, memShare float64) (load float64, under bool) {
	cpuMilli += g.used[cluster.CPU].Load()
	memBytes += g.used[cluster.Memory].Load()
	under = cpuMilli <= g.ceiling[cluster.CPU] && memBytes <= g.ceiling[cluster.Memory]
	cpuMilli += g.rises
	cpu, mem := float64(cpuMilli)*g.perUnit[cluster.CPU], float64(memBytes)*g.perUnit[cluster.Memory]
	return (max(0, cpu, mem) + (cpuShare*cpu + memShare*mem)) / 2, under
}
