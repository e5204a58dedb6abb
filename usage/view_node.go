package usage

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
)

func (r *reading) node(view *View, i int) {
	node, usage := view.Snapshot.Nodes[i], &view.Nodes[i]
	windows := len(view.Windows)
	usage.Measured, usage.Current, usage.Predicted = cut(&r.amounts, windows), cut(&r.amounts, windows), cut(&r.amounts, windows)
	usage.Told, usage.Vouched = cut(&r.told, windows), cut(&r.vouched, windows)
	usage.Signals = cut(&r.rows, len(view.Signals))
	for k := range usage.Signals {
		usage.Signals[k] = cut(&r.values, windows)
	}
	ns := r.store.nodes[node.Node.Name]
	if ns != nil {
		r.measure(ns, usage)
	}
	usage.Unknown = r.unknown(ns, &node.Node, usage)
	r.tell(ns, usage)
	told := r.podsTold(ns, node.Pods, usage.Pods)
	totals := r.podTotals(view, i, ns)
	copy(usage.Current, usage.Measured)
	copy(usage.Predicted, usage.Measured)
	if told {
		usage.shift(&totals, ns.pods)
	}
}

// measure reads the windows of a node: as the source gave them lately, else
// summed up here.
func (r *reading) measure(ns *nodeSeries, usage *NodeUsage) {
	usage.Source = ns.source
	if ns.newest.measured != 0 {
		usage.Sampled = r.store.time(ns.arrived)
		usage.Age = max(r.now.Sub(r.store.time(ns.newest.second)), 0).Truncate(time.Second)
	}
	usage.System = r.median(&ns.system)
	for w := range usage.Measured {
		usage.Measured[w], usage.Vouched[w] = r.resources(ns, w)
	}
	usage.Span = max(min(ns.vouched, Avg5m.Over), usage.Vouched[AtAvg5m])
	for m := range ns.metrics[:cluster.NumResources] {
		usage.Span = max(usage.Span, samplesSince(&ns.metrics[m].history.samples, r.since, func(value) {}))
	}
	for k, row := range usage.Signals {
		r.signal(&ns.metrics[int(cluster.NumResources)+k], row)
	}
}

// resources reads a window of the resources, and how long the source itself has
// looked for all of them.
func (r *reading) resources(ns *nodeSeries, w int) (used cluster.Amounts, vouched time.Duration) {
	known := false
	for m := range used {
		series := &ns.metrics[m]
		if r.store.config.Optional[m] && !series.fresh(r.second) {
			continue // its node may be known without it
		}
		v, by, ok := r.window(series, w)
		if !ok {
			continue
		}
		used[m] = int64(v)
		if !known || by < vouched {
			vouched = by
		}
		known = true
	}
	return used, vouched
}

// tell reads the windows that are known by themselves: those that a source
// vouches for and, of a node that is sampled, those summed up here.
func (r *reading) tell(ns *nodeSeries, usage *NodeUsage) {
	for w := range usage.Told {
		for m := range usage.Told[w] {
			usage.Told[w][m] = math.NaN()
			if ns == nil {
				continue
			}
			series := &ns.metrics[m]
			if given := &series.given[w]; given.told(r.second) {
				usage.Told[w][m] = given.value
			} else if usage.Known() && series.given[AtLast].told(r.second) {
				usage.Told[w][m], _ = series.history.window(r.store.windows[w], r.second, &r.scratch)
			}
		}
	}
}

func (r *reading) signal(series *metricSeries, row []float64) {
	if !series.fresh(r.second) {
		return
	}
	for w := range row {
		if v, _, ok := r.window(series, w); ok {
			row[w] = v
		}
	}
}

// fresh reports whether a source has lately reported a metric, over whatever
// window.
func (m *metricSeries) fresh(now uint32) bool {
	return slices.ContainsFunc(m.given, func(g given) bool { return g.fresh(now) })
}

// window reads a window of one metric, and how long the source itself has
// looked for it.
func (r *reading) window(series *metricSeries, w int) (v float64, vouched time.Duration, ok bool) {
	window := r.store.windows[w]
	if given := &series.given[w]; given.fresh(r.second) {
		return given.value, window.Over, true
	}
	v, ok = series.history.window(window, r.second, &r.scratch)
	return v, 0, ok
}

func (r *reading) unknown(ns *nodeSeries, node *cluster.Node, usage *NodeUsage) reasons.Reason {
	switch {
	case slices.Min(node.Allocatable[:]) <= 0:
		return reasons.AllocatableUnknown
	case ns == nil:
		return reasons.NoUsageSample
	case ns.newest.measured == 0:
		return cmp.Or(refusals[ns.refused], reasons.NoUsageSample)
	case !ns.newest.fresh(r.second):
		return cmp.Or(refusals[ns.refused], reasons.UsageStale)
	case usage.Span < r.store.config.MinWindow:
		return reasons.WindowTooShort
	}
	return ""
}

// podTotals are a node's pods now: those that stay, as far as they were
// measured, and all, with estimates for the others. By their means of five
// minutes, and by their newest samples: there a pod that ran when the node was
// sampled needs no estimate, it is part of what the node used.
type podTotals struct {
	stays, all             cluster.Amounts
	staysNewest, allNewest cluster.Amounts
}

func (r *reading) podTotals(view *View, i int, ns *nodeSeries) podTotals {
	newest := &r.newest[i]
	t := podTotals{staysNewest: newest.stays, allNewest: newest.all}
	for j, pod := range view.Snapshot.Nodes[i].Pods {
		p := &view.Nodes[i].Pods[j]
		if !pod.Terminating {
			t.stays = t.stays.Plus(p.Used) // nothing where nothing was measured
		}
		if !p.Measured {
			p.Used = r.estimate(pod, &view.Siblings, p.Used)
		}
		t.all = t.all.Plus(p.Used)
		if !newest.sampled[j] && !r.ranThen(pod, ns) {
			t.allNewest = t.allNewest.Plus(p.Used)
		}
	}
	return t
}

// ranThen reports whether a pod ran all the time that its node was sampled for
// last: what is measured of CPU is a rate between two looks.
func (r *reading) ranThen(pod *cluster.Pod, ns *nodeSeries) bool {
	if ns == nil || ns.newest.measured == 0 || pod.Started.IsZero() {
		return false
	}
	return !r.store.time(ns.newest.second).Before(pod.Started.Add(r.store.config.SampleInterval))
}

// podsTold reports whether a node's pods are measured these days. Where they
// are not, its own figures have to do: pods that nobody measures have not left.
func (r *reading) podsTold(ns *nodeSeries, pods []*cluster.Pod, usage []PodUsage) bool {
	if ns == nil || len(ns.system.samples) == 0 || r.store.told < r.since {
		return false
	}
	due := false
	for j, pod := range pods {
		if usage[j].Measured {
			return true
		}
		due = due || !pod.Started.IsZero() && r.now.Sub(pod.Started) > r.store.config.MinWindow+r.store.config.MaxAge
	}
	return !due
}

// shift turns what was measured of a node into what is left of it and what is
// to be expected, by the pods that came and went: since its newest sample, when
// they were the given, for that, and within five minutes for all windows.
func (n *NodeUsage) shift(t *podTotals, then cluster.Amounts) {
	average := n.Measured[AtAvg5m]
	left, expected := n.System.Plus(t.stays).Minus(average), n.System.Plus(t.all).Minus(average)
	for w := range n.Measured {
		if w == AtLast {
			n.move(w, t.staysNewest.Minus(then), t.allNewest.Minus(then))
		} else {
			n.move(w, left, expected)
		}
	}
}

func (n *NodeUsage) move(w int, left, expected cluster.Amounts) {
	for k := range left {
		left[k] = min(left[k], 0)
	}
	n.Current[w] = n.Measured[w].Plus(left).AtLeastZero()
	n.Predicted[w] = n.Measured[w].Plus(expected).AtLeastZero()
}

// median returns the lower median per resource over the samples of five
// minutes: what a single odd sample cannot move.
func (r *reading) median(samples *ring[point]) cluster.Amounts {
	r.cpuMilli, r.pages = r.cpuMilli[:0], r.pages[:0]
	samplesSince(samples, r.since, func(p point) {
		r.cpuMilli, r.pages = append(r.cpuMilli, p.cpuMilli), append(r.pages, p.pages)
	})
	if len(r.cpuMilli) == 0 {
		newest, _ := samples.newest()
		return newest.amounts()
	}
	slices.Sort(r.cpuMilli)
	slices.Sort(r.pages)
	mid := (len(r.cpuMilli) - 1) / 2
	return point{cpuMilli: r.cpuMilli[mid], pages: r.pages[mid]}.amounts()
}
