package usage

import (
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// sample takes in a node's sample of one source. Where an earlier source had
// one, only what that lacked is taken: a window with history, another metric.
// It returns whether the node took this source's sample for its own.
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
	if !have && complete && !contradictory {
		in.take(ns, src, sums)
		ns.refused = ""
		return true
	}
	if !have && refused != "" {
		ns.refused = refused
	}
	if !contradictory {
		in.fill(ns)
	}
	return false
}

// check sorts the readings and leaves out those with something wrong; it
// returns what was wrong last.
func (in *ingestion) check(node *cluster.NodePods, src *source, sample *NodeSample) (wrong Cause) {
	for m := range in.read {
		clear(in.read[m])
	}
	for i := range sample.Readings {
		reading := &sample.Readings[i]
		m, w := slices.Index(in.store.metrics, reading.Metric), slices.Index(in.store.windows, reading.Window)
		if m < 0 || w < 0 {
			continue // nobody asked for it
		}
		stamp, cause := in.stamp(src, reading.At)
		switch {
		case cause == "" && in.absurdValue(m, reading.Value, node.Node.Allocatable):
			cause = Absurd
		case cause == "" && in.read[m][w].measured != 0:
			cause = Duplicate
		}
		if cause != "" {
			wrong = cause
			continue
		}
		in.read[m][w] = given{value: reading.Value, sampled: stamp, vouched: vouchedFor(reading, stamp)}
	}
	return wrong
}

// vouchedFor is how many seconds after it was measured the source of a reading
// stands by it.
func vouchedFor(reading *Reading, stamp sampled) uint32 {
	if reading.MaxAge <= 0 {
		return stamp.maxAge
	}
	return min(stamp.maxAge, clamp32(int64(reading.MaxAge/time.Second)))
}

// complete reports whether every resource that is judged has a reading.
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

// shortest returns the index of the window that says most about now: last, else
// the one that reaches back least.
func (s *Store) shortest(read []given) (int, bool) {
	best := -1
	for w := range read {
		if read[w].measured != 0 && (best < 0 || s.windows[w].Over < s.windows[best].Over) {
			best = w
		}
	}
	return best, best >= 0
}

// What a node uses may lag behind what its pods use by a sample; more than this
// is a mistake of unit or of identity.
const (
	contradictoryFactor  = 3
	contradictoryPercent = 10
)

// contradicts reports whether the node seems to use far less than was measured
// of its pods.
func (in *ingestion) contradicts(pods, allocatable cluster.Amounts) bool {
	for resource := range cluster.NumResources {
		highest, known := 0.0, false
		for _, g := range in.read[resource] {
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

// take enters a source's readings as the node's own, if they are new: a source
// that has nothing newer lets age grow.
func (in *ingestion) take(ns *nodeSeries, src *source, sums podSums) {
	system, newest, vouched := in.present(sums)
	if in.store.config.SignalsOnly {
		newest, vouched = in.answered(src), Avg5m.Over
	}
	changed := ns.source != src.batch.Source
	if !changed && newest.measured <= ns.newest.measured {
		return
	}
	if changed || in.store.config.SignalsOnly {
		ns.forget() // windows that the former source gave are not this one's
	}
	ns.source, ns.newest, ns.arrived, ns.vouched = src.batch.Source, newest, in.second, vouched
	ns.pods = sums.sampled
	for m := range in.read {
		ns.metrics[m].enter(in, in.read[m])
	}
	if in.tells(ns) {
		ns.system.push(in.second, pack(in.second, system), in.store.limits.pod)
	}
}

// tells reports whether what belongs to no pod can be told from the difference
// of a node and its pods. A mean of five minutes still holds what pods used
// that have gone since, and holds too little of those that have come.
func (in *ingestion) tells(ns *nodeSeries) bool {
	if !in.hasPods {
		return false
	}
	settled := in.second-ns.changed >= uint32(Avg5m.Over/time.Second)
	return ns.vouched == 0 || settled || len(ns.system.samples) == 0
}

// present is what the readings say of now: what belongs to no pod, as old as
// the older of the resources, and how far back all of them reach: 0 where one
// is a sample, else the time that they are means of.
func (in *ingestion) present(sums podSums) (system cluster.Amounts, newest sampled, vouched time.Duration) {
	for resource := range system {
		w, ok := in.store.shortest(in.read[resource])
		if !ok {
			continue
		}
		g, over, pods := in.read[resource][w], in.store.windows[w].Over, sums.used[resource]
		if over > 0 {
			pods = sums.average[resource]
		}
		system[resource] = max(int64(g.value)-pods, 0)
		if newest.measured == 0 || over < vouched {
			vouched = over
		}
		if newest.measured == 0 || g.measured < newest.measured {
			newest = g.sampled
		}
	}
	return system, newest, vouched
}

// answered is the time at which a source reported its nodes.
func (in *ingestion) answered(src *source) sampled {
	stamp, _ := in.stamp(src, src.batch.Received)
	return stamp
}

// enter keeps the windows that a source gave and feeds the in-process ones.
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
}

// fill keeps what a source has of windows and signals that the node's own
// source, and the sources before this one, lack.
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

// closed reports whether a window is not to be filled: its node's own source
// gave it lately, or another source just now.
func (g *given) closed(now uint32) bool { return g.fresh(now) && (g.filled == 0 || g.filled == now) }

// closed says the same of all windows of a metric.
func (m *metricSeries) closed(now uint32) bool {
	return slices.ContainsFunc(m.given, func(g given) bool { return g.closed(now) })
}
