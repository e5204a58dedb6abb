package scorer

import (
	"sync/atomic"

	"github.com/evenkeel/evenkeel/cluster"
)

// gauge holds exactly those data of a node that a request reads. A request concerns
// thousands of nodes, and most of its cost is fetching one cache line for each. The
// methods of gauge name the two resources instead of looping over them, and take the
// amounts as separate arguments, because arrays are kept in memory but numbers in
// registers. This halves the cost per node.
type gauge struct {
	// used is the predicted usage including all later changes: pods that were bound or
	// are gone, and moves that were reserved or released.
	used [cluster.NumResources]atomic.Int64
	// ceiling is the highest predicted usage that is allowed. perUnit is one unit of
	// usage in percent, so that requests multiply instead of dividing.
	ceiling cluster.Amounts
	perUnit cluster.Percents
	// rises is the additional CPU that the node is expected to use when it is busiest. It
	// affects the node's score, but not whether the node is full.
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

// load combines the predicted percentages, including the additional usage, into one
// figure: half of it is the dominant resource, the other half the mean weighted by
// cpuShare and memShare. CPU counts with the usage that is expected when the node is
// busiest.
func (g *gauge) load(cpuMilli, memBytes int64, cpuShare, memShare float64) (load float64, under bool) {
	cpuMilli += g.used[cluster.CPU].Load()
	memBytes += g.used[cluster.Memory].Load()
	under = cpuMilli <= g.ceiling[cluster.CPU] && memBytes <= g.ceiling[cluster.Memory]
	cpuMilli += g.rises
	cpu, mem := float64(cpuMilli)*g.perUnit[cluster.CPU], float64(memBytes)*g.perUnit[cluster.Memory]
	return (max(0, cpu, mem) + (cpuShare*cpu + memShare*mem)) / 2, under
}
