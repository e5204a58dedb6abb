// Package thresholds holds the levels of usage and thus the only definition of hot, for
// both halves of Evenkeel. Levels are set per pool of nodes, metric and window, either as
// absolute values or as distances from the mean.
//
// A Set holds the policy's lines. Resolve applies them to a usage.View. The result
// contains, for each node, whether it is over its evict lines, how much has to leave it,
// and how much it may take. The package keeps no state: Classify takes the previous
// states as an argument.
package thresholds

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Levels are the four lines of one metric over one window; +Inf means that there is no
// line. The unit is percent of allocatable for cpu and memory, percent of capacity for
// memory.available, and otherwise the metric's own unit. If less of a metric is worse,
// the order is reversed and -Inf means that there is no line.
type Levels struct {
	// Low is the cool line: a node is cool if it is at or below the line on every metric.
	Low float64
	// Reject is the line for new pods: a node that is predicted above it gets no more of
	// them as long as other nodes qualify.
	Reject float64
	// Evict is the line for hot nodes: a node is over if it is above the line in every
	// window of a metric.
	Evict float64
	// Leave is the line for hot nodes to cool down: a hot node stays hot until it is at
	// or below the line on every metric.
	Leave float64
}

// NoLevels returns Levels without any line.
func NoLevels() Levels {
	inf := math.Inf(1)
	return Levels{inf, inf, inf, inf}
}

func (l Levels) negated() Levels { return Levels{-l.Low, -l.Reject, -l.Evict, -l.Leave} }

// MemoryAvailable is the memory that the kubelet counts as available (capacity minus the
// working set), in percent of capacity. Less of it is worse. It is derived from Memory,
// so every source has it.
const MemoryAvailable usage.Metric = "memory.available"

// Rule judges one metric over one window.
type Rule struct {
	Metric usage.Metric
	Window usage.Window
	Levels Levels
	// Deviation makes the levels distances from the mean: Low is below the mean,
	// the others above it. All four are required.
	Deviation bool
	// LowerIsWorse reverses every comparison.
	LowerIsWorse bool
	// Relieves is the resource whose usage must leave the node to lower a signal, in
	// proportion to how far the signal exceeds its line; Nothing if no move helps. It
	// applies only to metrics that are not resources.
	Relieves cluster.Resource
}

// Nothing is the Relieves value of a signal that makes a node hot but that no move
// lowers.
const Nothing = cluster.NumResources

// Pool is a set of nodes that are judged by the same rules.
type Pool struct {
	Name string
	// Matches reports whether a node with these labels belongs to the pool; nil
	// matches every node.
	Matches func(labels map[string]string) bool
	Rules   []Rule
}

// Set holds the lines of a policy.
type Set struct {
	pools []Pool
	// gapPercent is the least gap between lines that are distances from a mean near 0 or
	// 100.
	gapPercent float64
	// Urgent defines which rise of memory makes a node over without waiting; zero for
	// none.
	Urgent Urgent
}

// Urgent describes a rise of memory that is too urgent to wait until every window is
// above its evict line. A rise is urgent if all samples within usage.Config.Rise are
// above the line and if, at their rate, memory reaches FullPercent of allocatable (of
// capacity, for MemoryAvailable) within a given time.
type Urgent struct {
	FullPercent float64
	Within      time.Duration
}

// New returns a Set. A node is judged by the first pool that it matches, so the
// last pool must match every node.
func New(pools []Pool, gapPercent float64) (*Set, error) {
	if len(pools) == 0 || pools[len(pools)-1].Matches != nil {
		return nil, errors.New("lines: the last pool must match every node")
	}
	for p := range pools {
		for i := range pools[p].Rules {
			if err := pools[p].Rules[i].check(); err != nil {
				return nil, fmt.Errorf("lines: %q of pool %q %w", pools[p].Rules[i].Metric, pools[p].Name, err)
			}
		}
	}
	return &Set{pools: pools, gapPercent: gapPercent}, nil
}

// check returns an error for rules that no policy can express.
func (r *Rule) check() error {
	resource := r.Metric == usage.CPU || r.Metric == usage.Memory
	infinite := func(level float64) bool { return math.IsInf(level, 0) }
	levels := []float64{r.Levels.Low, r.Levels.Reject, r.Levels.Evict, r.Levels.Leave}
	switch {
	case r.Relieves > Nothing:
		return errors.New("relieves an unknown resource")
	case resource && r.LowerIsWorse, r.Metric == MemoryAvailable && !r.LowerIsWorse:
		return errors.New("has the wrong direction")
	case r.Deviation && (!resource || slices.ContainsFunc(levels, infinite)):
		return errors.New("cannot be judged by distances from the mean")
	}
	return nil
}

// Resolved holds the lines of a Set, resolved for the nodes of a View.
type Resolved struct {
	set   *Set
	view  *usage.View
	pools []pool
	// of holds the index of each node's pool.
	of     []uint16
	urgent Urgent
}

// pool is a Pool with its rules in groups, one for each metric.
type pool struct {
	name   string
	groups []group
}

// group holds the rules of one metric. The metric is over if every window is.
type group struct {
	metric   usage.Metric
	kind     kind
	resource cluster.Resource
	signal   int // index in the View's Signals
	rules    []rule
	evicting []rule // the rules with an evict line
	newest   []rule // for memory: the rule for the newest sample, with the highest of these lines
	// calm is, for each window, the CPU usage in percent of allocatable up to which no
	// contention occurs. It is used for contention only.
	calm []float64
}

type kind uint8

const (
	ofResource kind = iota
	ofAvailable
	ofSignal
)

// rule judges one window of a group, reversed if necessary so that higher is
// worse.
type rule struct {
	window int // index in the View's Windows
	levels Levels
	flip   bool
}

// Resolve applies the lines to a View. Rules for windows or signals that the
// View does not have are ignored.
func (s *Set) Resolve(view *usage.View) *Resolved {
	r := &Resolved{set: s, view: view, pools: make([]pool, len(s.pools)), of: make([]uint16, len(view.Nodes)), urgent: s.Urgent}
	for i := range view.Nodes {
		r.of[i] = s.poolOf(view.Snapshot.Nodes[i].Node.Labels)
	}
	for p := range s.pools {
		r.pools[p] = s.resolvePool(r, p)
	}
	return r
}

// Newest returns the lines resolved for the newest samples alone, which show
// how hot a node seems to be before its windows have filled. Evictions are
// never based on it.
func (r *Resolved) Newest() *Resolved { return r.set.Resolve(r.view.Newest()) }

func (s *Set) poolOf(labels map[string]string) uint16 {
	for p := range s.pools {
		if s.pools[p].Matches == nil || s.pools[p].Matches(labels) {
			return uint16(p) // a policy has few pools
		}
	}
	return uint16(len(s.pools) - 1) // as above
}

func (s *Set) resolvePool(r *Resolved, p int) pool {
	resolved := pool{name: s.pools[p].Name}
	at := map[usage.Metric]int{}
	for i := range s.pools[p].Rules {
		given := &s.pools[p].Rules[i]
		g, ok := groupOf(given, r.view)
		window := r.view.WindowIndex(given.Window)
		if !ok || window < 0 {
			continue
		}
		k, known := at[given.Metric]
		if !known {
			k = len(resolved.groups)
			at[given.Metric] = k
			resolved.groups = append(resolved.groups, g)
		}
		levels := given.Levels
		if given.Deviation {
			levels = s.around(r.mean(p, &g, window), levels)
		}
		one := rule{window: window, levels: levels, flip: given.LowerIsWorse}
		if one.flip {
			one.levels = levels.negated()
		}
		group := &resolved.groups[k]
		group.rules = append(group.rules, one)
		if !math.IsInf(one.levels.Evict, 1) {
			group.evicting = append(group.evicting, one)
		}
	}
	for k := range resolved.groups {
		resolved.groups[k].findNewest()
	}
	resolved.findCalm(len(r.view.Windows))
	return resolved
}

// findNewest sets the rule for memory that rises too fast to wait for the windows.
func (g *group) findNewest() {
	if g.kind == ofSignal || g.resource != cluster.Memory || len(g.evicting) == 0 {
		return
	}
	highest := slices.MaxFunc(g.evicting, func(a, b rule) int { return cmp.Compare(a.levels.Evict, b.levels.Evict) })
	highest.window = usage.AtLast
	g.newest = []rule{highest}
}

func groupOf(given *Rule, view *usage.View) (group, bool) {
	g := group{metric: given.Metric, resource: given.Relieves}
	switch given.Metric {
	case usage.CPU:
		g.resource = cluster.CPU
	case usage.Memory:
		g.resource = cluster.Memory
	case MemoryAvailable:
		g.kind, g.resource = ofAvailable, cluster.Memory
	default:
		g.kind, g.signal = ofSignal, view.SignalIndex(given.Metric)
		return g, g.signal >= 0
	}
	return g, true
}

// around turns distances from a mean into levels. A mean near 0 or 100 is
// legitimate and must not change the order of the lines. At the lower end the
// evict line is raised, because nearly idle nodes are not hot.
func (s *Set) around(mean float64, by Levels) Levels {
	evict := max(2*s.gapPercent, min(mean+by.Evict, 100))
	reject := min(mean+by.Reject, evict-s.gapPercent)
	low := max(0, min(mean-by.Low, reject-s.gapPercent))
	return Levels{Low: low, Reject: reject, Evict: evict, Leave: min(max(mean+by.Leave, (low+evict)/2), evict)}
}

// mean returns a metric's mean, weighted by node size, over those known nodes of a pool
// that are most open to pods; 50 if nothing is known.
func (r *Resolved) mean(p int, g *group, window int) float64 {
	sum, weights, most := 0.0, 0.0, cluster.Shut
	for i := range r.view.Nodes {
		if int(r.of[i]) != p || !r.view.Nodes[i].Known() {
			continue
		}
		node := &r.view.Snapshot.Nodes[i].Node
		v, open := r.value(i, g, window, r.view.Nodes[i].Current), node.Openness()
		if math.IsNaN(v) || open < most {
			continue
		}
		if open > most {
			sum, weights, most = 0, 0, open
		}
		weight := float64(node.Allocatable[g.resource])
		sum, weights = sum+weight*v, weights+weight
	}
	if weights == 0 {
		return 50
	}
	return sum / weights
}

// value returns the value of a group's metric on a node; NaN if it is unknown. It is
// computed from the given amounts, except for signals. Contention is computed for the
// pods that are still there.
func (r *Resolved) value(i int, g *group, window int, amounts []cluster.Amounts) float64 {
	node := &r.view.Snapshot.Nodes[i].Node
	switch g.kind {
	case ofAvailable:
		whole := node.Capacity[g.resource]
		return percentOf(whole-amounts[window][g.resource]-r.reserved(i, window, g.resource), whole)
	case ofSignal:
		value := r.view.Nodes[i].Signals[g.signal][window]
		if g.calm != nil {
			value *= r.remaining(i, g, window)
		}
		return value
	case ofResource:
	}
	return percentOf(amounts[window][g.resource], node.Allocatable[g.resource])
}

// reserved returns the part of the machine's usage of a resource that is not included in
// the node's amounts.
func (r *Resolved) reserved(i, window int, resource cluster.Resource) int64 {
	if reserved := r.view.Nodes[i].Reserved; window < len(reserved) {
		return reserved[window][resource]
	}
	return 0
}

// findCalm sets the CPU usage up to which no contention occurs in a pool: the low line of
// each window, or 0 without one.
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

// remaining returns the share of a node's contention that remains without the pods that
// have left since the measurement.
func (r *Resolved) remaining(i int, g *group, window int) float64 {
	read := &r.view.Nodes[i]
	if window >= len(read.Measured) || window >= len(read.Current) {
		return 1
	}
	return remaining(read.Measured[window][cluster.CPU], read.Current[window][cluster.CPU],
		r.view.Snapshot.Nodes[i].Node.Allocatable[cluster.CPU], g.calm[window])
}
