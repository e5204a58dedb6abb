package usage

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/reasons"
)

func (r *reading) node(view *View, i int) {
	node, usage := view.Snapshot.Nodes[i], &view.Nodes[i]
	windows := len(view.Windows)
	usage.Measured, usage.Current, usage.Predicted = cut(&r.amounts, windows), cut(&r.amounts, windows), cut(&r.amounts, windows)
	usage.Reported, usage.SourceSpan = cut(&r.reported, windows), cut(&r.sourceSpan, windows)
	usage.Signals = cut(&r.rows, len(view.Signals))
	for k := range usage.Signals {
		usage.Signals[k] = cut(&r.values, windows)
	}
	ns := r.store.nodes[node.Node.Name]
	if ns != nil {
		r.measure(ns, usage)
		if usage.StolenMilliCores = r.stolen(ns); usage.StolenMilliCores > 0 {
			node = view.without(i, usage.StolenMilliCores, usage.Measured[AtAvg5m][cluster.CPU])
		}
	}
	usage.Unknown = r.unknown(ns, &node.Node, usage)
	if usage.Known() {
		ns.trend.Add(ns.newest.second, usage.Measured[AtAvg5m][cluster.CPU])
		ns.trough.Add(ns.newest.second, usage.Measured[AtAvg5m][cluster.CPU])
		ns.peak.Add(ns.newest.second, usage.Measured[AtAvg5m][cluster.CPU])
		usage.Expected, usage.LeastMilliCores, usage.PeakMilliCores = ns.trend.Expect(), ns.trough.MilliCores(), ns.peak.MilliCores()
	}
	r.readReported(ns, usage)
	reported := r.podsReported(ns, node.Pods, usage.Pods)
	totals := r.podTotals(view, i, ns, reported)
	copy(usage.Current, usage.Measured)
	copy(usage.Predicted, usage.Measured)
	if reported {
		usage.shift(&totals)
	}
	systemKnown := ns != nil && len(ns.system.samples) > 0
	capacity := node.Node.Capacity
	if systemKnown {
		capacity = node.Node.Counted(usage.System)
	}
	if reserve := capacity.Minus(node.Node.Allocatable).AtLeastZero(); reserve != (cluster.Amounts{}) {
		usage.Reserved = cut(&r.amounts, windows)
		usage.leaveOut(reserve, capacity, systemKnown, systemKnown && !r.neverSampled(node.Pods, usage.Pods))
	}
}

// neverSampled reports whether one of the unsampled pods has never been sampled although
// a sample is due. Usage of such a pod beyond its estimate is part of the system's usage,
// unlike usage of a pod whose samples were lost.
func (r *reading) neverSampled(pods []*cluster.Pod, usage []PodUsage) bool {
	return slices.ContainsFunc(r.unsampled, func(j int) bool {
		next := 0
		return usage[j].MeasuredIn == 0 && r.store.series(pods[j], &next).unseen()
	})
}

// stolen reads how much CPU a machine was denied, in milli-cores; 0 if unknown.
func (r *reading) stolen(ns *nodeSeries) int64 {
	if !ns.stolen.fresh(r.second) {
		return 0
	}
	stolen, _, _ := r.window(&ns.stolen, AtAvg5m)
	return int64(stolen)
}

// leastLeft is the minimum share of a node's CPU that remains if CPU is stolen, in
// percent.
const leastLeft = 1

// without replaces a node with a copy whose CPU is reduced by the stolen amount, but not
// below its usage. The copy's reserve is reduced in proportion.
func (v *View) without(i int, stolen, used int64) *cluster.NodePods {
	given := v.Snapshot.Nodes[i]
	whole := max(given.Node.Capacity[cluster.CPU], given.Node.Allocatable[cluster.CPU])
	if whole <= 0 {
		return given
	}
	if !v.copied {
		v.Snapshot, v.copied = &cluster.Snapshot{Nodes: slices.Clone(v.Snapshot.Nodes)}, true
	}
	less := *given
	left := max(1-float64(stolen)/float64(whole), min(float64(used)/float64(whole), 1), leastLeft/100.0)
	for _, amounts := range []*cluster.Amounts{&less.Node.Capacity, &less.Node.Allocatable} {
		amounts[cluster.CPU] = int64(math.Ceil(float64(amounts[cluster.CPU]) * left))
	}
	v.Snapshot.Nodes[i] = &less
	return &less
}

// leaveOut subtracts the usage covered by the node's reserve from its amounts, because
// allocatable also excludes the reserve. exactly is true if System contains no usage of
// pods. Otherwise the reserve counts as used at most to the same degree as the whole
// machine.
func (n *NodeUsage) leaveOut(reserve, capacity cluster.Amounts, systemKnown, exactly bool) {
	n.ByCapacity = !systemKnown
	for k := range reserve {
		covered := reserve[k]
		if systemKnown {
			covered = min(covered, n.System[k])
			n.System[k] -= covered
		}
		for w := range n.Measured {
			part := min(covered, n.Measured[w][k])
			if !exactly {
				part = min(part, int64(float64(n.Measured[w][k])*float64(reserve[k])/float64(max(capacity[k], 1))))
			}
			n.Reserved[w][k] = part
			n.Measured[w][k] -= part
			n.Current[w][k] = max(n.Current[w][k]-part, 0)
			n.Predicted[w][k] = max(n.Predicted[w][k]-part, 0)
		}
	}
}

// measure reads the windows of a node. It uses the source's windows if they were provided
// recently, otherwise the ones computed here.
func (r *reading) measure(ns *nodeSeries, usage *NodeUsage) {
	usage.Source = ns.source
	if ns.newest.measured != 0 {
		usage.Sampled = r.store.time(ns.arrived)
		usage.Age = max(r.now.Sub(r.store.time(ns.newest.second)), 0).Truncate(time.Second)
	}
	usage.System = r.medians.of(&ns.system, r.since)
	usage.Rise = ns.metrics[cluster.Memory].history.rise(r.second, r.store.config.Rise, &r.rising)
	for w := range usage.Measured {
		usage.Measured[w], usage.SourceSpan[w] = r.resources(ns, w)
	}
	usage.Span = max(min(ns.sourceSpan, Avg5m.Over), usage.SourceSpan[AtAvg5m])
	for m := range ns.metrics[:cluster.NumResources] {
		usage.Span = max(usage.Span, samplesSince(&ns.metrics[m].history.samples, r.since, func(value) {}))
	}
	for k, row := range usage.Signals {
		r.signal(&ns.metrics[int(cluster.NumResources)+k], row)
	}
}

// resources reads a window of the resources, and the time that the source
// itself observed for all of them.
func (r *reading) resources(ns *nodeSeries, w int) (used cluster.Amounts, sourceSpan time.Duration) {
	known := false
	for m := range used {
		series := &ns.metrics[m]
		if r.store.config.Optional[m] && !series.fresh(r.second) {
			continue // a node may be known without this resource
		}
		v, by, ok := r.window(series, w)
		if !ok {
			continue
		}
		used[m] = int64(v)
		if !known || by < sourceSpan {
			sourceSpan = by
		}
		known = true
	}
	return used, sourceSpan
}

// readReported reads the windows whose own value is known: those that a source
// still considers valid and, for sampled nodes, those computed here.
func (r *reading) readReported(ns *nodeSeries, usage *NodeUsage) {
	for w := range usage.Reported {
		for m := range usage.Reported[w] {
			usage.Reported[w][m] = math.NaN()
			if ns == nil {
				continue
			}
			series := &ns.metrics[m]
			if given := &series.given[w]; given.valid(r.second) {
				usage.Reported[w][m] = given.value
			} else if usage.Known() && series.given[AtLast].valid(r.second) {
				usage.Reported[w][m], _ = series.history.window(r.store.windows[w], r.second, &r.scratch)
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

// fresh reports whether a source recently reported a metric over any window.
func (m *metricSeries) fresh(now uint32) bool {
	return slices.ContainsFunc(m.given, func(g given) bool { return g.fresh(now) })
}

// window reads a window of one metric, and the time that the source itself
// observed for it.
func (r *reading) window(series *metricSeries, w int) (v float64, sourceSpan time.Duration, ok bool) {
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

// podTotals holds the sums of the present usage of a node's pods, of five-minute means
// and of newest samples: one for the measured pods that stay, and one for all pods, with
// estimates for those that are not measured. In the sums of newest samples, a pod that
// ran when the node was sampled needs no estimate, because the node's usage includes it.
// If the pod had just started, its usage is the part of the node's usage for which
// neither the other pods nor the system account.
type podTotals struct {
	stays, all             cluster.Amounts
	staysNewest, allNewest cluster.Amounts
	// then is the usage of the pods at the time of the node's newest sample. That sample
	// is compared with it.
	then cluster.Amounts
}

func (r *reading) podTotals(view *View, i int, ns *nodeSeries, reported bool) podTotals {
	newest := &r.newest[i]
	t := podTotals{staysNewest: newest.stays, allNewest: newest.all}
	if ns != nil {
		t.then = ns.pods.Minus(newest.expired)
	}
	r.unsampled = r.unsampled[:0]
	var ran, began cluster.Amounts // without a fresh sample
	for j, pod := range view.Snapshot.Nodes[i].Pods {
		p := &view.Nodes[i].Pods[j]
		measured := p.Used // zero if the pod was not measured
		if !p.Measured {
			estimate := r.estimate(pod, &view.Siblings)
			for k := range estimate {
				p.Used[k] = max(measured[k], estimate[k])
			}
			p.Expected = forecast.Constant(p.Used[cluster.CPU])
			counted := p.evidence(measured, estimate)
			p.Uncounted, measured = measured.Minus(counted), counted
			if reported { // otherwise only the usage of its node is known
				p.Assumed = p.Used.Minus(p.Uncounted).Minus(counted)
			}
			if p.MeasuredIn == 0 {
				p.MeasuredIn = r.measuredIn(pod)
			}
			t.staysNewest = t.staysNewest.Minus(r.excess(p, pod, estimate))
		}
		if !pod.Terminating {
			t.stays = t.stays.Plus(measured)
		}
		t.all = t.all.Plus(p.Used)
		switch {
		case newest.sampled[j]:
		case r.ranThen(pod, ns, r.store.config.SampleInterval):
			ran, r.unsampled = ran.Plus(p.Used), append(r.unsampled, j)
		case r.ranThen(pod, ns, 0):
			began = began.Plus(p.Used)
		default:
			t.allNewest = t.allNewest.Plus(p.Used)
		}
	}
	if reported && len(r.unsampled) > 0 {
		ran = r.attribute(view, i, &t)
	}
	if began != (cluster.Amounts{}) {
		usage := &view.Nodes[i]
		included := usage.Measured[AtLast].Minus(usage.System).Minus(t.then).Minus(ran).AtLeastZero()
		t.allNewest = t.allNewest.Plus(began.Minus(included).AtLeastZero())
	}
	return t
}

// attribute divides the node's measured usage beyond its system and its sampled pods
// among the pods that ran without a fresh sample, and returns their total. It takes the
// smaller total of the newest sample and the mean, because the mean includes departed
// pods for five minutes. A pod whose share is above its estimate is predicted at that
// share. When deciding whether the node is hot, only the part of a share that was assumed
// when the system's usage was derived counts. It does not count while a first sample is
// still due, because usage at a pod's start is not evidence.
func (r *reading) attribute(view *View, i int, t *podTotals) (used cluster.Amounts) {
	pods, usage := view.Snapshot.Nodes[i].Pods, &view.Nodes[i]
	byNewest, byMean := usage.Measured[AtLast].Minus(t.then), usage.Measured[AtAvg5m].Minus(r.newest[i].means)
	assumed := make([]cluster.Amounts, len(r.unsampled))
	for n, j := range r.unsampled {
		next := 0
		assumed[n] = r.store.assumed(pods[j], r.store.series(pods[j], &next))
	}
	for k := range used {
		shared := max(min(byNewest[k], byMean[k])-usage.System[k], 0)
		parts := apportion(shared, len(r.unsampled), func(n int) int64 { return usage.Pods[r.unsampled[n]].Used[k] })
		known := apportion(shared, len(r.unsampled), func(n int) int64 { return assumed[n][k] })
		for n, j := range r.unsampled {
			pod, p, counted := pods[j], &usage.Pods[j], int64(0)
			if p.MeasuredIn == 0 && !pod.Terminating {
				counted = min(known[n], assumed[n][k])
			}
			t.stays[k] += counted
			counted += p.Counted()[k]
			t.all[k] += max(parts[n]-p.Used[k], 0)
			p.Uncounted[k] = max(parts[n]-counted, 0)
			p.Used[k] = max(p.Used[k], parts[n])
			p.Assumed[k] = max(p.Used[k]-p.Uncounted[k]-counted, 0)
			used[k] += p.Used[k]
		}
	}
	for _, j := range r.unsampled {
		usage.Pods[j].Expected = forecast.Constant(usage.Pods[j].Used[cluster.CPU])
	}
	return used
}

// apportion divides a whole into n parts in proportion to their weights, or equally if no
// weight is above 0.
func apportion(whole int64, n int, weight func(n int) int64) []int64 {
	total := 0.0
	for i := range n {
		total += float64(max(weight(i), 0))
	}
	parts, before, sum := make([]int64, n), int64(0), 0.0
	for i := range parts {
		if sum += float64(max(weight(i), 0)) / total; total == 0 {
			sum = float64(i+1) / float64(n)
		}
		upTo := int64(math.Round(float64(whole) * min(sum, 1)))
		parts[i], before = upTo-before, upTo
	}
	return parts
}

// excess returns the part of a starting pod's newest sample that exceeds its
// evidence.
func (r *reading) excess(p *PodUsage, pod *cluster.Pod, estimate cluster.Amounts) cluster.Amounts {
	next := 0
	if ps := r.store.series(pod, &next); p.Starting && !pod.Terminating && ps != nil {
		newest, _ := ps.used.newest()
		return newest.amounts().Minus(p.evidence(newest.amounts(), estimate))
	}
	return cluster.Amounts{}
}

// ranThen reports whether a pod had been running for at least atLeast when its
// node was last sampled. CPU is measured as a rate between two readings, so a
// node's sample includes all of a pod's usage only if the pod ran for the whole
// interval.
func (r *reading) ranThen(pod *cluster.Pod, ns *nodeSeries, atLeast time.Duration) bool {
	if ns == nil || ns.newest.measured == 0 || pod.Started.IsZero() {
		return false
	}
	return !r.store.time(ns.newest.second).Before(pod.Started.Add(atLeast))
}

// podsReported reports whether a node's pods are currently measured. If they
// are not, only the node's own figures count, because pods without a
// measurement have not necessarily left.
func (r *reading) podsReported(ns *nodeSeries, pods []*cluster.Pod, usage []PodUsage) bool {
	if ns == nil || len(ns.system.samples) == 0 || r.store.newestPods < r.since {
		return false
	}
	due := false
	for j, pod := range pods {
		if usage[j].Measured || usage[j].Starting {
			return true
		}
		due = due || !pod.Started.IsZero() && r.now.Sub(pod.Started) > r.store.config.MinWindow+r.store.config.MaxAge
	}
	return !due
}

// shift derives Current and Predicted from Measured, based on the pods that came and
// went. In the window Last, a pod counts with its newest sample; in all other windows,
// with its five-minute mean.
func (n *NodeUsage) shift(t *podTotals) {
	average := n.Measured[AtAvg5m]
	left, expected := n.System.Plus(t.stays).Minus(average), n.System.Plus(t.all).Minus(average)
	for w := range n.Measured {
		if w == AtLast {
			n.move(w, t.staysNewest.Minus(t.then), t.allNewest.Minus(t.then))
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
