// Package scorer decides which nodes of a request may take a pod and how good
// each of them is: by predicted real usage or, if a policy selects the rules of
// legacy systems, by measured windows.
//
// It holds the values of Evenkeel's scheduling half: a Board is built from one
// usage.View, adjusted by bindings and moves in flight as they happen, and answers Filter
// and Score without a lock and without allocating. Unknown nodes are neutral, that is,
// never rejected and never preferred. scorer/extender contains the HTTP side.
package scorer

import (
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// Config configures how a Board scores.
type Config struct {
	// Weights holds the weights of the resources in the mean part of a score. If all are
	// zero, the weights are equal.
	Weights cluster.Percents
	// DampPercent is the spread of usage, in percentage points, below which
	// scores shrink towards the middle.
	DampPercent float64
	// Unforeseen makes the Board score nodes by their current usage instead of their
	// expected usage.
	Unforeseen bool
	// HotValue holds the terms that lower the scores of nodes that recently received many
	// pods. Without terms, no score is lowered.
	HotValue []HotTerm
	// Measured makes the Board use measured windows; nil uses predicted usage.
	Measured *Measured
}

// Board is the predicted usage of every node at one observation. Only the
// amounts of the adjustments and the bindings counted for the hot value change.
type Board struct {
	config Config
	index  map[string]cluster.NodeIndex
	nodes  []node
	gauges []gauge
	// requested holds the sum of each node's pod requests. kube-scheduler's own plugins
	// score by it.
	requested []requested
	// shares holds the weights of the resources, which add up to 1.
	shares cluster.Percents
	// siblings estimates a pod's usage from similar pods.
	siblings usage.Siblings
	hot      *hotValue // nil without terms
	scratch  sync.Pool // of *[]float64: the loads of a request's nodes
	// measured is nil if predicted usage decides. standings holds the results of measured
	// by node.
	measured  *Measured
	standings []standing
	// closing reports whether taints close any node.
	closing bool
}

type requested [cluster.NumResources]atomic.Int64

func (r *requested) add(by cluster.Amounts) {
	for k := range by {
		r[k].Add(by[k])
	}
}

type node struct {
	name        string
	allocatable cluster.Amounts
	predicted   cluster.Amounts
	// closed reports whether a taint keeps landings off the node.
	closed bool
}

// NewBoard returns the board of a view. resolved holds each node's ceiling.
func NewBoard(view *usage.View, resolved *thresholds.Resolved, config Config) *Board {
	b := &Board{
		config:    config,
		index:     make(map[string]cluster.NodeIndex, len(view.Nodes)),
		nodes:     make([]node, len(view.Nodes)),
		gauges:    make([]gauge, len(view.Nodes)),
		requested: make([]requested, len(view.Nodes)),
		siblings:  view.Siblings,
		shares:    shares(config.Weights),
		hot:       newHotValue(view.Snapshot, view.At, config.HotValue),
		measured:  config.Measured,
	}
	if config.Measured != nil {
		b.standings = config.Measured.standings(view)
	}
	for i := range view.Nodes {
		info := &view.Snapshot.Nodes[i].Node
		b.index[info.Name] = cluster.NodeIndex(i)
		b.nodes[i] = node{name: info.Name, allocatable: info.Allocatable, predicted: thresholds.ForPlacing(&view.Nodes[i])}
		b.nodes[i].closed = info.Leaving != "" || info.ClosedBy != ""
		b.closing = b.closing || b.nodes[i].closed
		var asked cluster.Charge
		for _, pod := range view.Snapshot.Nodes[i].Pods {
			asked.Requests = asked.Requests.Plus(cluster.NewCharge(asked.Usage, pod.Requests).Requests)
		}
		b.requested[i].add(asked.Requests)
		b.gauges[i].set(b.nodes[i].predicted, resolved.Ceiling(i), info.Allocatable, view.Nodes[i].Known())
		if !config.Unforeseen {
			b.gauges[i].rises = rise(&view.Nodes[i], b.nodes[i].predicted[cluster.CPU])
		}
	}
	return b
}

// Clone returns a copy of the board with the same adjustments. Later adjustments of one
// do not affect the other. Both count the same bindings for the hot value.
func (b *Board) Clone() *Board {
	c := &Board{
		config: b.config, index: b.index, nodes: b.nodes, gauges: make([]gauge, len(b.gauges)), requested: make([]requested, len(b.requested)),
		shares: b.shares, siblings: b.siblings, hot: b.hot, measured: b.measured, standings: b.standings, closing: b.closing,
	}
	for i := range b.gauges {
		from, to := &b.gauges[i], &c.gauges[i]
		to.ceiling, to.perUnit, to.rises, to.known = from.ceiling, from.perUnit, from.rises, from.known
		for r := range from.used {
			to.used[r].Store(from.used[r].Load())
			c.requested[i][r].Store(b.requested[i][r].Load())
		}
	}
	return c
}

// rise returns the CPU beyond the prediction, in milli-cores, that a node is expected to
// use when it is busiest. It is based on the usage of its pods in the last hours and on
// daily patterns.
func rise(read *usage.NodeUsage, predicted int64) int64 {
	var recurring forecast.Course
	expected, recurs := predicted, false
	for j := range read.Pods {
		pod := &read.Pods[j]
		expected -= pod.Used[cluster.CPU]
		if pod.Pattern.Recurs() {
			recurring.Add(pod.Expected, pod.Pattern)
			recurs = true
		} else {
			expected += int64(pod.Expected[forecast.Spans-1].Mean)
		}
	}
	if recurs {
		_, peak := recurring.Peak()
		expected += peak
	}
	return max(expected-predicted, 0)
}

func shares(weights cluster.Percents) cluster.Percents {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	for r := range weights {
		if weights[r] /= sum; !(sum > 0) { // also true for NaN
			weights[r] = 1 / float64(len(weights))
		}
	}
	return weights
}

// Len returns the number of nodes of the board.
func (b *Board) Len() int { return len(b.nodes) }

// Node returns the index of a node, or -1.
func (b *Board) Node(name []byte) cluster.NodeIndex {
	if i, ok := b.index[string(name)]; ok { // the compiler does not allocate the string
		return i
	}
	return -1
}

// Name returns the name of the node at an index that Node returned.
func (b *Board) Name(i cluster.NodeIndex) string { return b.nodes[i].name }

// Names returns the names of all nodes, by index.
func (b *Board) Names() []string {
	names := make([]string, len(b.nodes))
	for i := range b.nodes {
		names[i] = b.nodes[i].name
	}
	return names
}

// SameNodes reports whether two boards have the same nodes at the same indices.
func (b *Board) SameNodes(other *Board) bool {
	return slices.EqualFunc(b.nodes, other.nodes, func(x, y node) bool { return x.name == y.name })
}

// Siblings returns the estimated usage of a pod with these limits, from the
// usage of similar pods.
func (b *Board) Siblings(kin usage.Kin, limits cluster.Amounts) (cluster.Amounts, bool) {
	return b.siblings.Of(kin, limits)
}

// Adjust adds to the predicted usage and the requests of a node; negative
// amounts subtract. It is safe for concurrent use and ignores unknown names.
func (b *Board) Adjust(name string, by cluster.Charge) {
	i, ok := b.index[name]
	if !ok {
		return
	}
	for r := range by.Usage {
		b.gauges[i].used[r].Add(by.Usage[r])
	}
	b.requested[i].add(by.Requests)
}

// Predicted returns the predicted usage of a node with the adjustments since
// the observation, and whether it is known.
func (b *Board) Predicted(i cluster.NodeIndex) (cluster.Amounts, bool) {
	if i < 0 || int(i) >= len(b.nodes) {
		return cluster.Amounts{}, false
	}
	g := &b.gauges[i]
	var amounts cluster.Amounts
	for r := range amounts {
		amounts[r] = g.used[r].Load()
	}
	return amounts, g.known
}

// With returns the predicted usage of a node in percent of allocatable with a
// pod of the given usage on it.
func (b *Board) With(i cluster.NodeIndex, pod cluster.Amounts) (cluster.Percents, bool) {
	amounts, known := b.Predicted(i)
	if !known {
		return cluster.Percents{}, false
	}
	return amounts.Plus(pod).PercentOf(b.nodes[i].allocatable), true
}

// Refused yields the positions, in a list of nodes, of the nodes on which kube-scheduler
// must not put a pod of the given usage. These are the nodes that would be above the
// reject line with the pod or, with measured windows, are above one of their limits. An
// unknown node is not refused.
func (b *Board) Refused(nodes []cluster.NodeIndex, pod cluster.Amounts) iter.Seq[int] {
	if b.Measured() {
		return func(yield func(int) bool) {
			for k, i := range nodes {
				if b.full(i) && !yield(k) {
					return
				}
			}
		}
	}
	cpuMilli, memBytes := pod[cluster.CPU], pod[cluster.Memory]
	return func(yield func(int) bool) {
		gauges := b.gauges
		for k, i := range nodes {
			if uint(i) < uint(len(gauges)) && !gauges[i].takes(cpuMilli, memBytes) && !yield(k) {
				return
			}
		}
	}
}

// AppendRefused appends all nodes that do not accept a pod of the given usage
// to a list and returns it. This costs a fraction of asking about each node.
func (b *Board) AppendRefused(nodes []cluster.NodeIndex, pod cluster.Amounts) []cluster.NodeIndex {
	if b.Measured() {
		for i := range b.standings {
			if b.standings[i].full {
				nodes = append(nodes, cluster.NodeIndex(i))
			}
		}
		return nodes
	}
	cpuMilli, memBytes := pod[cluster.CPU], pod[cluster.Memory]
	for i := range b.gauges {
		if !b.gauges[i].takes(cpuMilli, memBytes) {
			nodes = append(nodes, cluster.NodeIndex(i))
		}
	}
	return nodes
}

// Lands reports whether a planned move may end on a node: no taint closes the node, and
// its predicted usage stays at or under the reject line, even with measured windows.
func (b *Board) Lands(i cluster.NodeIndex, pod cluster.Amounts) bool {
	return !b.closed(i) && !b.full(i) && b.under(i, pod)
}

// LandsUpTo is like Lands, but the move may fill the node up to the given CPU
// instead of the reject line; 0 means the reject line. All other reject lines
// remain: a node beyond the line of a signal accepts nothing.
func (b *Board) LandsUpTo(i cluster.NodeIndex, pod cluster.Amounts, milliCores int64) bool {
	if milliCores <= 0 {
		return b.Lands(i, pod)
	}
	predicted, known := b.Predicted(i)
	ceiling := b.Ceiling(i)
	if !known || ceiling[cluster.CPU] <= 0 || b.closed(i) || b.full(i) {
		return false
	}
	ceiling[cluster.CPU] = min(milliCores, b.nodes[i].allocatable[cluster.CPU])
	return !predicted.Plus(pod).Exceeds(ceiling)
}

// closed reports whether a taint keeps landings off a node. Such nodes are not refused
// for pods that are not being moved, because a pod that tolerates the taints may have no
// other node.
func (b *Board) closed(i cluster.NodeIndex) bool {
	return b.closing && i >= 0 && int(i) < len(b.nodes) && b.nodes[i].closed
}

func (b *Board) under(i cluster.NodeIndex, pod cluster.Amounts) bool {
	return i < 0 || int(i) >= len(b.gauges) || b.gauges[i].takes(pod[cluster.CPU], pod[cluster.Memory])
}

// Rises returns the CPU beyond the prediction, in milli-cores, that a node is expected to
// use when it is busiest.
func (b *Board) Rises(i cluster.NodeIndex) int64 {
	if i < 0 || int(i) >= len(b.gauges) {
		return 0
	}
	return b.gauges[i].rises
}

// Ceiling returns the highest predicted usage that a node may have.
func (b *Board) Ceiling(i cluster.NodeIndex) cluster.Amounts {
	if i < 0 || int(i) >= len(b.nodes) {
		return cluster.Amounts{}
	}
	return b.gauges[i].ceiling
}

// Adjusted returns how bindings and moves have changed a node's usage since the
// observation.
func (b *Board) Adjusted(i cluster.NodeIndex) cluster.Amounts {
	var by cluster.Amounts
	if i < 0 || int(i) >= len(b.gauges) {
		return by
	}
	for r := range by {
		by[r] = b.gauges[i].used[r].Load() - b.nodes[i].predicted[r]
	}
	return by
}

// Bound counts a pod that was bound to a node since the observation. It is safe
// for concurrent use and ignores unknown names.
func (b *Board) Bound(name string, at time.Time) {
	if b.hot == nil {
		return
	}
	if i, ok := b.index[name]; ok {
		b.hot.add(int(i), at)
	}
}

// Measured reports whether the board uses measured windows.
func (b *Board) Measured() bool { return b.measured != nil }

// full reports whether a node is above a limit of a measured window. An unknown
// node is not.
func (b *Board) full(i cluster.NodeIndex) bool {
	return i >= 0 && int(i) < len(b.standings) && b.standings[i].full
}
