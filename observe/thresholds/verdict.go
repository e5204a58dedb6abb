package thresholds

import (
	"math"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// worse returns the value of a rule's metric, reversed if necessary so that
// higher is worse.
func (r *Resolved) worse(i int, g *group, one *rule, amounts []cluster.Amounts) float64 {
	v := r.value(i, g, one.window, amounts)
	if one.flip {
		return -v
	}
	return v
}

// overBy returns the rules by which a metric is above its evict line: those of all
// windows that have such a line or, if memory rises too fast to wait for the windows, the
// rule for the newest sample.
func (r *Resolved) overBy(i int, g *group) []rule {
	switch {
	case len(g.evicting) > 0 && r.overAll(i, g):
		return g.evicting
	case len(g.newest) > 0 && r.rises(i, g):
		return g.newest
	}
	return nil
}

func (r *Resolved) over(i int, g *group) bool { return len(r.overBy(i, g)) > 0 }

func (r *Resolved) overAll(i int, g *group) bool {
	for k := range g.evicting {
		one := &g.evicting[k]
		if !(r.worse(i, g, one, r.view.Nodes[i].Current) > one.levels.Evict) { // also true for NaN
			return false
		}
	}
	return true
}

// rises reports whether memory rises too fast to wait. Usage that has left the
// node since the measurement is excluded from all samples.
func (r *Resolved) rises(i int, g *group) bool {
	read, one := &r.view.Nodes[i], &g.newest[0]
	if r.urgent.Within <= 0 || read.Rise.BytesPerMinute <= 0 {
		return false
	}
	at := func(used int64) float64 {
		return r.worse(i, g, one, []cluster.Amounts{usage.AtLast: {cluster.Memory: used}})
	}
	full := r.urgent.FullPercent
	if one.flip {
		full -= 100
	}
	newest := read.Current[usage.AtLast][cluster.Memory]
	left := read.Measured[usage.AtLast][cluster.Memory] + r.reserved(i, usage.AtLast, cluster.Memory) - newest
	return at(read.Rise.Lowest-left) > one.levels.Evict && at(newest) > one.levels.Evict &&
		at(newest+int64(read.Rise.BytesPerMinute*r.urgent.Within.Minutes())) >= full
}

// Over returns the first metric of a node that is above its evict line in every
// window, by its current usage.
func (r *Resolved) Over(i int) (usage.Metric, bool) {
	groups := r.pools[r.of[i]].groups
	for k := range groups {
		if r.over(i, &groups[k]) {
			return groups[k].metric, true
		}
	}
	return "", false
}

// OverOnly reports whether a node is over by one metric alone.
func (r *Resolved) OverOnly(i int, metric usage.Metric) bool {
	_, over := r.Over(i)
	return over && !r.OverOther(i, metric)
}

// OverOther reports whether a node is over by any metric other than the given
// one.
func (r *Resolved) OverOther(i int, metric usage.Metric) bool {
	groups := r.pools[r.of[i]].groups
	for k := range groups {
		if groups[k].metric != metric && r.over(i, &groups[k]) {
			return true
		}
	}
	return false
}

// Left reports whether a node is at or below its leave line on every metric and window.
// Unknown values count as below it.
func (r *Resolved) Left(i int) bool {
	return r.under(i, r.view.Nodes[i].Current, func(l *Levels) float64 { return l.Leave })
}

// Cool reports whether a node is predicted at or below its low line on every
// metric and window.
func (r *Resolved) Cool(i int) bool {
	return r.under(i, r.view.Nodes[i].Predicted, func(l *Levels) float64 { return l.Low })
}

func (r *Resolved) under(i int, amounts []cluster.Amounts, level func(*Levels) float64) bool {
	groups := r.pools[r.of[i]].groups
	for k := range groups {
		for j := range groups[k].rules {
			one := &groups[k].rules[j]
			if r.worse(i, &groups[k], one, amounts) > level(&one.levels) {
				return false
			}
		}
	}
	return true
}

// SourceSpan returns the shortest span of the windows by which a node is over, or 0 if
// Evenkeel computed one of them. For that long, sources have themselves observed what
// makes the node hot.
func (r *Resolved) SourceSpan(i int) (shortest time.Duration) {
	groups := r.pools[r.of[i]].groups
	found := false
	for k := range groups {
		for _, one := range r.overBy(i, &groups[k]) {
			if sourceSpan := r.view.Nodes[i].SourceSpan[one.window]; !found || sourceSpan < shortest {
				shortest, found = sourceSpan, true
			}
		}
	}
	return shortest
}

// reach returns the length of the longest window by which a node is over.
func (r *Resolved) reach(i int) (longest time.Duration) {
	groups := r.pools[r.of[i]].groups
	for k := range groups {
		for _, one := range r.overBy(i, &groups[k]) {
			longest = max(longest, r.view.Windows[one.window].Over)
		}
	}
	return longest
}

// Need returns what must leave a node to bring every metric that is over down to its
// evict line, in addition to what has left since the View. A metric that is judged over
// several windows is no longer over as soon as one window is at its line.
func (r *Resolved) Need(i int, left cluster.Amounts) cluster.Amounts {
	return r.NeedOther(i, "", left)
}

// NeedOther is like Need, but ignores one metric.
func (r *Resolved) NeedOther(i int, metric usage.Metric, left cluster.Amounts) cluster.Amounts {
	var need cluster.Amounts
	groups := r.pools[r.of[i]].groups
	for k := range groups {
		g := &groups[k]
		if g.metric == metric || g.resource == Nothing {
			continue
		}
		if rules := r.overBy(i, g); len(rules) > 0 {
			need[g.resource] = max(need[g.resource], r.needOf(i, g, rules)-left[g.resource])
		}
	}
	return need
}

func (r *Resolved) needOf(i int, g *group, rules []rule) int64 {
	least := int64(math.MaxInt64)
	for k := range rules {
		least = min(least, r.needIn(i, g, &rules[k]))
	}
	return least
}

// needIn returns what has to leave for one window. A signal is assumed to be proportional
// to the resource that relieves it. Contention is assumed to be proportional to the
// contending part of CPU usage.
func (r *Resolved) needIn(i int, g *group, one *rule) int64 {
	node := &r.view.Snapshot.Nodes[i].Node
	used := r.view.Nodes[i].Current[one.window][g.resource]
	switch g.kind {
	case ofAvailable:
		used += r.reserved(i, one.window, g.resource)
		return used - ceiling(100+one.levels.Evict, node.Capacity[g.resource]) // the level is the negative percentage
	case ofSignal:
		if g.calm != nil {
			used = contending(used, node.Allocatable[cluster.CPU], g.calm[one.window])
		}
		return int64(math.Ceil(float64(used) * excess(r.worse(i, g, one, nil), one)))
	case ofResource:
	}
	return used - ceiling(one.levels.Evict, node.Allocatable[g.resource])
}

// excess returns how far a signal is beyond its evict line. The result is a fraction of
// the value if higher is worse, and of the line if lower is worse.
func excess(worse float64, one *rule) float64 {
	whole := worse
	if one.flip {
		whole = -one.levels.Evict
	}
	if !(whole > 0) {
		return 1
	}
	return min(max((worse-one.levels.Evict)/whole, 0), 1)
}

// ForPlacing returns the predicted usage of a node that is used to place pods: the higher
// of the last sample and the five-minute mean.
func ForPlacing(n *usage.NodeUsage) cluster.Amounts {
	predicted := n.Predicted[usage.AtAvg5m]
	for k, v := range n.Predicted[usage.AtLast] {
		predicted[k] = max(predicted[k], v)
	}
	return predicted
}

// Ceiling returns the highest prediction, in terms of ForPlacing, at which a
// node stays at or under every reject line. A window that is predicted higher
// than ForPlacing lowers the ceiling by the difference. A signal beyond its
// reject line sets the ceiling to zero.
func (r *Resolved) Ceiling(i int) cluster.Amounts {
	most := cluster.Amounts{math.MaxInt64, math.MaxInt64}
	predicted := ForPlacing(&r.view.Nodes[i])
	groups := r.pools[r.of[i]].groups
	for k := range groups {
		g := &groups[k]
		for j := range g.rules {
			one := &g.rules[j]
			if math.IsInf(one.levels.Reject, 1) {
				continue
			}
			if g.kind == ofSignal {
				if r.worse(i, g, one, nil) > one.levels.Reject {
					return cluster.Amounts{}
				}
				continue
			}
			most[g.resource] = min(most[g.resource], r.ceilingIn(i, g, one, predicted[g.resource]))
		}
	}
	return most
}

// ceilingIn returns the ceiling for one window, given the prediction of
// ForPlacing. Short windows are judged directly by that prediction.
func (r *Resolved) ceilingIn(i int, g *group, one *rule, predicted int64) int64 {
	node := &r.view.Snapshot.Nodes[i].Node
	line := ceiling(one.levels.Reject, node.Allocatable[g.resource])
	if g.kind == ofAvailable {
		line = ceiling(100+one.levels.Reject, node.Capacity[g.resource]) - r.reserved(i, usage.AtAvg5m, g.resource)
	}
	if one.window == usage.AtLast || one.window == usage.AtAvg5m {
		return line
	}
	beyond := r.view.Nodes[i].Predicted[one.window][g.resource] - predicted
	return line - max(beyond, 0)
}

// Of returns the levels of a node's metric over a window, as percentages or in the
// metric's unit. The second result reports whether there are any.
func (r *Resolved) Of(i int, metric usage.Metric, window usage.Window) (Levels, bool) {
	groups := r.pools[r.of[i]].groups
	w := r.view.WindowIndex(window)
	for k := range groups {
		if groups[k].metric != metric {
			continue
		}
		for _, one := range groups[k].rules {
			if one.window != w {
				continue
			}
			if one.flip {
				return one.levels.negated(), true
			}
			return one.levels, true
		}
	}
	return NoLevels(), false
}

// HighestEvict returns the line above which a metric's value is above the evict
// lines of all windows, and whether there is one.
func (r *Resolved) HighestEvict(i int, metric usage.Metric) (line float64, ok bool) {
	for _, window := range r.view.Windows {
		if levels, has := r.Of(i, metric, window); has && !math.IsInf(levels.Evict, 0) {
			line, ok = max(line, levels.Evict), true
		}
	}
	return line, ok
}

// Now returns the value by which a node's metric is judged over a window, and reports
// whether it is judged at all.
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

// HotLine returns the usage of a resource, in its unit, above which a node is
// hot in all windows; MaxInt64 without an evict line.
func (r *Resolved) HotLine(i int, resource cluster.Resource) int64 {
	line, ok := r.HighestEvict(i, usage.Metric(resource.String()))
	if !ok {
		return math.MaxInt64
	}
	return ceiling(line, r.view.Snapshot.Nodes[i].Node.Allocatable[resource])
}

// Pool returns the name of the pool by which a node is judged.
func (r *Resolved) Pool(i int) string { return r.pools[r.of[i]].name }
