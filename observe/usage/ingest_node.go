package usage

import (
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// sample ingests one source's sample of a node. If an earlier source has provided a
// sample, only the windows with history and the metrics that it lacks are used. sample
// reports whether this source's sample became the node's own.
func (in *ingestion) sample(ns *nodeSeries, node *cluster.NodePods, src *source, sample *NodeSample, sums podSums, have bool) bool {
	refused := in.check(node, src, sample)
	if refused != "" {
		src.problems.Add(refused, "node "+node.Node.Name)
	}
	complete := in.complete() || in.store.config.SignalsOnly && refused == ""
	contradictory := complete && in.contradicts(sums.least, node.Node.Allocatable)
	if contradictory {
		refused = Contradictory
		src.problems.Add(Contradictory, "node "+node.Node.Name+" uses far less than its pods")
	}
	taken := !have && complete && !contradictory
	switch {
	case taken:
		in.take(ns, src, sums)
		refused = ""
	case !contradictory:
		in.fill(ns)
	}
	if !contradictory {
		in.enterStolen(ns, node, src)
	}
	if taken || !have && refused != "" {
		ns.refused = refused
	}
	return taken
}

// check sorts the readings, drops those that are rejected, and returns the
// cause of the last rejection.
func (in *ingestion) check(node *cluster.NodePods, src *source, sample *NodeSample) (wrong Cause) {
	for m := range in.read {
		clear(in.read[m])
	}
	clear(in.stolen)
	for i := range sample.Readings {
		reading := &sample.Readings[i]
		m, w := slices.Index(in.store.metrics, reading.Metric), slices.Index(in.store.windows, reading.Window)
		bounds, read := m, in.stolen
		switch {
		case w >= 0 && m >= 0:
			read = in.read[m]
		case w >= 0 && reading.Metric == CPUStolen:
			bounds = int(cluster.CPU)
		default:
			continue // not requested
		}
		stamp, cause := in.stamp(src, reading.At)
		switch {
		case cause == "" && in.absurdValue(bounds, reading.Value, node.Node.Allocatable):
			cause = Absurd
		case cause == "" && read[w].measured != 0:
			cause = Duplicate
		}
		switch {
		case cause == "":
		case reading.Metric == CPUStolen: // nodes are not judged by it
			src.problems.Add(cause, "stolen CPU of node "+node.Node.Name)
			continue
		default:
			wrong = cause
			continue
		}
		read[w] = given{value: reading.Value, sampled: stamp, validFor: validity(reading, stamp)}
	}
	return wrong
}

// validity returns the number of seconds for which a reading is valid after its
// measurement.
func validity(reading *Reading, stamp sampled) uint32 {
	if reading.MaxAge <= 0 {
		return stamp.maxAge
	}
	return min(stamp.maxAge, clamp32(int64(reading.MaxAge/time.Second)))
}

// complete reports whether there is a reading of every resource by which nodes are
// judged.
func (in *ingestion) complete() bool {
	known := false
	for resource := range cluster.NumResources {
		_, ok := in.store.shortest(in.read[resource])
		if !ok && !in.store.config.Optional[resource] {
			return false
		}
		known = known || ok
	}
	return known
}

// shortest returns the index of the most current window: last, otherwise the
// shortest one.
func (s *Store) shortest(read []given) (int, bool) {
	best := -1
	for w := range read {
		if read[w].measured != 0 && (best < 0 || s.windows[w].Over < s.windows[best].Over) {
			best = w
		}
	}
	return best, best >= 0
}

// A node's usage may lag behind that of its pods by one sample. A larger difference means
// a wrong unit or a wrong node.
const (
	contradictoryFactor  = 3
	contradictoryPercent = 10
)

// contradicts reports whether a node's readings are far below the measured usage of its
// pods.
func (in *ingestion) contradicts(pods, allocatable cluster.Amounts) bool {
	for resource := range cluster.NumResources {
		highest, known := 0.0, false
		for w, g := range in.read[resource] {
			if resource == cluster.CPU && in.stolen[w].measured != 0 {
				g.value += in.stolen[w].value // kernels may count stolen time as usage of pods
			}
			if g.measured != 0 {
				highest, known = max(highest, g.value), true
			}
		}
		sum := float64(pods[resource])
		if known && highest*contradictoryFactor < sum && sum-highest > contradictoryPercent/100.0*float64(allocatable[resource]) {
			return true
		}
	}
	return false
}

// take stores a source's new readings as the node's own. If there are none, the node's
// sample keeps aging.
func (in *ingestion) take(ns *nodeSeries, src *source, sums podSums) {
	system, newest, sourceSpan := in.present(sums)
	if in.store.config.SignalsOnly {
		newest, sourceSpan = in.answered(src), Avg5m.Over
	}
	changed := ns.source != src.batch.Source
	if !changed && newest.measured <= ns.newest.measured {
		return
	}
	if changed || in.store.config.SignalsOnly {
		ns.forget() // the previous source's windows do not apply to this one
	}
	ns.source, ns.newest, ns.arrived, ns.sourceSpan = src.batch.Source, newest, in.second, sourceSpan
	ns.pods = sums.sampled
	for m := range in.read {
		ns.metrics[m].enter(in, in.read[m])
	}
	if in.canDeriveSystem(ns, sums.unseen) {
		ns.system.push(in.second, pack(in.second, in.asBefore(ns, system, sums)), in.store.limits.pod)
	}
}

// canDeriveSystem reports whether the system's usage can be derived as a node's usage
// minus that of its pods. It cannot if the usage of a starting pod without a sample would
// count as the system's.
func (in *ingestion) canDeriveSystem(ns *nodeSeries, unseen bool) bool {
	newest, known := ns.system.newest()
	recent := known && in.second-newest.second < uint32(Avg5m.Over/time.Second)
	return in.hasPods && (!unseen || !recent)
}

// asBefore replaces the derived system usage with the previous one to the extent that
// pods that came or left explain the difference. A node's sample includes the usage of
// pods that left since the previous sample, which no pod's sample contains, and only part
// of the usage of pods that came.
func (in *ingestion) asBefore(ns *nodeSeries, system cluster.Amounts, sums podSums) cluster.Amounts {
	if len(ns.system.samples) == 0 {
		return system
	}
	before := in.medians.of(&ns.system, in.second-uint32(Avg5m.Over/time.Second))
	for k := range system {
		system[k] = min(max(before[k], system[k]-sums.left[k]), system[k]+sums.came[k])
	}
	return system
}

// present returns the system usage according to the readings, which is negative if they
// lack usage of pods. It also returns the older of the resources' times, and the span
// that all readings cover: 0 if one of them is a single sample, otherwise the length of
// their means.
func (in *ingestion) present(sums podSums) (system cluster.Amounts, newest sampled, sourceSpan time.Duration) {
	for resource := range system {
		w, ok := in.store.shortest(in.read[resource])
		if !ok {
			continue
		}
		g, over, pods := in.read[resource][w], in.store.windows[w].Over, sums.used[resource]
		if over > 0 {
			pods = sums.average[resource]
		}
		system[resource] = int64(g.value) - pods
		if newest.measured == 0 || over < sourceSpan {
			sourceSpan = over
		}
		if newest.measured == 0 || g.measured < newest.measured {
			newest = g.sampled
		}
	}
	return system, newest, sourceSpan
}

// answered returns when a source reported its nodes.
func (in *ingestion) answered(src *source) sampled {
	stamp, _ := in.stamp(src, src.batch.Received)
	return stamp
}

// enter stores the windows that the source provides, and adds its samples to the windows
// that are computed here.
func (m *metricSeries) enter(in *ingestion, read []given) {
	w, ok := in.store.shortest(read)
	if !ok {
		return
	}
	m.history.push(value{in.second, float32(read[w].value)}, in.store.limits)
	for w, g := range read {
		if g.measured != 0 {
			m.given[w] = g
		}
	}
}

func (ns *nodeSeries) forget() {
	for m := range ns.metrics {
		clear(ns.metrics[m].given)
	}
	clear(ns.stolen.given)
}

// fill stores windows and signals that are provided neither by the node's own
// source nor by an earlier one.
func (in *ingestion) fill(ns *nodeSeries) {
	for m, read := range in.read {
		series := &ns.metrics[m]
		for w := range read {
			read[w].filled = in.second
		}
		if m >= int(cluster.NumResources) {
			if w, ok := in.store.shortest(read); ok && !series.closed(in.second) && read[w].measured > series.given[w].measured {
				series.enter(in, read)
			}
			continue
		}
		for w, g := range read {
			if g.measured != 0 && in.store.windows[w] != Last && !series.given[w].closed(in.second) {
				series.given[w] = g
			}
		}
	}
}

// enterStolen stores the stolen CPU that a source reports for a node. Some kernels
// include stolen time in usage. This is the case if this source measures less usage than
// the node's own source, and stolen time must then not count twice. The value is also
// wrong if it would leave the machine with less CPU than it uses.
func (in *ingestion) enterStolen(ns *nodeSeries, node *cluster.NodePods, src *source) {
	filled := ns.source != src.batch.Source
	if filled && ns.stolen.closed(in.second) {
		return
	}
	whole := float64(max(node.Node.Capacity[cluster.CPU], node.Node.Allocatable[cluster.CPU]))
	for w := range in.stolen {
		stolen := &in.stolen[w]
		if stolen.measured == 0 {
			continue
		}
		own, known := in.ofNode(&ns.metrics[cluster.CPU], w)
		beside := &in.read[cluster.CPU][w]
		switch {
		case filled && known && beside.measured != 0 && own > beside.value+stolen.value/2:
			*stolen = given{}
		case known && whole > 0 && own+stolen.value > (1+contradictoryPercent/100.0)*whole:
			src.problems.Add(Contradictory, "node "+node.Node.Name+" uses CPU that is stolen from it")
			*stolen = given{}
		case filled:
			stolen.filled = in.second
		}
	}
	ns.stolen.enter(in, in.stolen)
}

// ofNode reads a window of a node's metric as reported by its own source or as
// computed from its samples.
func (in *ingestion) ofNode(series *metricSeries, w int) (float64, bool) {
	if given := &series.given[w]; given.fresh(in.second) {
		return given.value, true
	}
	if !series.fresh(in.second) {
		return 0, false
	}
	return series.history.window(in.store.windows[w], in.second, &in.scratch)
}

// closed reports whether a window must not be filled, because the node's own
// source provided it recently or another source has just provided it.
func (g *given) closed(now uint32) bool { return g.fresh(now) && (g.filled == 0 || g.filled == now) }

// closed reports whether any window of a metric is closed.
func (m *metricSeries) closed(now uint32) bool {
	return slices.ContainsFunc(m.given, func(g given) bool { return g.closed(now) })
}
