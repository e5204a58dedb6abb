package usage

import (
	"math"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// reading is a View under construction.
type reading struct {
	store         *Store
	now           time.Time
	second, since uint32
	expected      map[string]cluster.Amounts
	newest        []newest
	owners        []measuredOf // by number
	next          int          // index in the store's order of the next pod
	scratch       []float32
	rising        []value
	medians       medians
	unsampled     []int // among a node's pods, those that ran without a fresh sample

	// The slices of all nodes are cut from the following ones.
	amounts    []cluster.Amounts
	reported   []Reported
	sourceSpan []time.Duration
	values     []float64
	rows       [][]float64
}

func (r *reading) makeRoom(nodes int) {
	windows, signals := len(r.store.windows), len(r.store.metrics)-int(cluster.NumResources)
	r.amounts = make([]cluster.Amounts, 4*nodes*windows)
	r.reported = make([]Reported, nodes*windows)
	r.sourceSpan = make([]time.Duration, nodes*windows)
	r.values = slices.Repeat([]float64{math.NaN()}, nodes*windows*signals)
	r.rows = make([][]float64, nodes*signals)
}

// cut removes the first n elements from a slice and returns them.
func cut[T any](from *[]T, n int) []T {
	taken := (*from)[:n:n]
	*from = (*from)[n:]
	return taken
}

// newest holds the sums of the newest samples of a node's pods.
type newest struct {
	sampled    []bool // by pod
	stays, all cluster.Amounts
	// means is the sum of the five-minute means of the same pods.
	means cluster.Amounts
	// expired is the sum of the samples that were fresh when the node was sampled.
	expired cluster.Amounts
}

func (n *newest) add(j int, pod *cluster.Pod, ps *podSeries, mean cluster.Amounts) {
	used, ok := ps.used.newest()
	if !ok {
		return
	}
	n.sampled[j] = true
	n.all, n.means = n.all.Plus(used.amounts()), n.means.Plus(mean)
	if !pod.Terminating {
		n.stays = n.stays.Plus(used.amounts())
	}
}
