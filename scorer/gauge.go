package scorer

import (
	"sync/atomic"

	"github.com/evenkeel/evenkeel/cluster"
)

// gauge is what of a node a request reads, and nothing else: a request asks for
// thousands, and one cache line each is most of what they cost. Its methods
// name the two resources instead of going through them, and take amounts apart
// from each other, because arrays stay in memory and numbers in registers: that
// halves what asking a node costs.
type gauge struct {
	// used is the predicted usage with all that happened since: pods bound or
	// gone, moves reserved or released.
	used [cluster.NumResources]atomic.Int64
	// ceiling is the most that may be predicted, perUnit what one unit of usage
	// is in percent: what comparing and dividing would give, without the
	// divisions.
	ceiling cluster.Amounts
	perUnit cluster.Percents
	known   bool
	_       [15]byte
}

// A third resource has to be named below.
var _ [2]struct{} = [cluster.NumResources]struct{}{}

func (g *gauge) set(predicted, ceiling, allocatable cluster.Amounts, known bool) {
	for r := range predicted {
		g.used[r].Store(predicted[r])
	}
	g.ceiling, g.perUnit, g.known = ceiling, cluster.Amounts{1, 1}.PercentOf(allocatable), known
}

// takes reports whether the node stays at or under its ceiling with that much
// more on it.
func (g *gauge) takes(cpuMilli, memBytes int64) bool {
	return !g.known || g.used[cluster.CPU].Load()+cpuMilli <= g.ceiling[cluster.CPU] &&
		g.used[cluster.Memory].Load()+memBytes <= g.ceiling[cluster.Memory]
}

// load sums the predicted percentages with that much more on the node up in one
// figure, half the dominant resource, half the mean, whose weights are cpuShare
// and the rest.
func (g *gauge) load(cpuMilli, memBytes int64, cpuShare, memShare float64) (load float64, under bool) {
	cpuMilli += g.used[cluster.CPU].Load()
	memBytes += g.used[cluster.Memory].Load()
	under = cpuMilli <= g.ceiling[cluster.CPU] && memBytes <= g.ceiling[cluster.Memory]
	cpu, mem := float64(cpuMilli)*g.perUnit[cluster.CPU], float64(memBytes)*g.perUnit[cluster.Memory]
	return (max(0, cpu, mem) + (cpuShare*cpu + memShare*mem)) / 2, under
}
