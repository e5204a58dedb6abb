package usage

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Ingest stores the Batches that the sources returned for one reading, in order of
// preference. It matches them against the snapshot of the same time. Each node and each
// pod takes the first fresh and plausible sample. Series of nodes and pods that have left
// the snapshot are dropped, so the size of the cluster bounds the store. If Batches are
// older than the stored ones, the clock has gone backwards. The age of stored samples is
// then meaningless, and the store starts over. Ingest returns the problems per source.
func (s *Store) Ingest(snapshot *cluster.Snapshot, batches ...Batch) map[string]Problems {
	in := ingestion{store: s, sources: make([]source, len(batches)), read: newReadings(len(s.metrics), len(s.windows)), stolen: make([]given, len(s.windows))}
	for i := range batches {
		in.hasPods = in.hasPods || len(batches[i].Pods) > 0
		in.second = max(in.second, s.second(batches[i].Received))
	}
	s.advance(&in, len(batches) > 0)
	if s.config.Recurs.Period > 0 {
		in.part = s.config.Recurs.Part(s.time(in.second).Unix())
		s.owners.begin(in.part)
	}
	in.adopt(snapshot)
	for i := range batches {
		in.sources[i] = in.open(&batches[i])
	}
	nodes := make(map[string]*nodeSeries, len(snapshot.Nodes))
	s.lacking = 0
	for _, node := range snapshot.Nodes {
		nodes[node.Node.Name] = in.node(node)
	}
	s.nodes = nodes
	problems := make(map[string]Problems, len(batches))
	for i := range in.sources {
		src := &in.sources[i]
		src.unmatched()
		sum := problems[src.batch.Source]
		sum.Merge(src.problems)
		problems[src.batch.Source] = sum
	}
	return problems
}

// advance moves the store's clock, or starts over if it went backwards.
func (s *Store) advance(in *ingestion, hasBatches bool) {
	if !hasBatches {
		return
	}
	if in.second < s.newest {
		patterns := s.owners.workloads
		s.nodes, s.order, s.index, s.owners, s.families = map[string]*nodeSeries{}, nil, newPodIndex(), newOwners(s.owners.seed), nil
		s.owners.workloads = patterns
		s.owners.workloads.release()
		clear(s.batches)
	}
	s.newest = in.second
	if in.hasPods {
		s.newestPods = in.second
	}
}

// node ingests one node and its pods. The system's share is the node's usage
// minus that of its pods.
func (in *ingestion) node(node *cluster.NodePods) *nodeSeries {
	ns := in.store.nodes[node.Node.Name]
	if ns == nil {
		ns = &nodeSeries{metrics: make([]metricSeries, len(in.store.metrics)), stolen: metricSeries{given: make([]given, len(in.store.windows))}}
		for m := range ns.metrics {
			ns.metrics[m].given = make([]given, len(in.store.windows))
		}
	}
	sums := podSums{since: ns.reach()}
	in.pods(&sums, node, in.measuredAt(node.Node.Name))
	if left, ok := in.left[node.Node.Name]; ok {
		ns.left.push(in.second, pack(in.second, left), 2*in.store.limits.pod)
	}
	samplesSince(&ns.left, sums.since+1, func(p point) { sums.left = sums.left.Plus(p.amounts()) })
	taken := false
	ns.refused = ""
	for i := range in.sources {
		src := &in.sources[i]
		k, ok := src.nodes[node.Node.Name]
		if !ok {
			continue
		}
		delete(src.nodes, node.Node.Name)
		taken = in.sample(ns, node, src, &src.batch.Nodes[k], sums, taken) || taken
	}
	if node.Node.Measured() && !taken {
		in.store.lacking++
	}
	return ns
}

// measuredAt returns when the first source that reports the node measured it;
// zero if none does.
func (in *ingestion) measuredAt(name string) time.Time {
	for i := range in.sources {
		if k, ok := in.sources[i].nodes[name]; ok && len(in.sources[i].batch.Nodes[k].Readings) > 0 {
			return in.sources[i].batch.Nodes[k].Readings[0].At
		}
	}
	return time.Time{}
}

// pods ingests the pods of a node. measured is the time at which the node was measured.
func (in *ingestion) pods(sums *podSums, node *cluster.NodePods, measured time.Time) {
	for _, pod := range node.Pods {
		ps, taken := in.series[in.next], false
		in.next++
		for i := range in.sources {
			src := &in.sources[i]
			if k := src.pods[ps.place]; k > 0 {
				taken = taken || in.pod(ps, pod, src, &src.batch.Pods[k-1], node.Node.Allocatable)
			}
		}
		in.add(sums, ps, pod, measured)
	}
}

// pod ingests one pod's sample unless it is rejected.
func (in *ingestion) pod(ps *podSeries, pod *cluster.Pod, src *source, sample *PodSample, allocatable cluster.Amounts) bool {
	last, stamp, ok := in.podSample(pod, src, &sample.Last, allocatable)
	if !ok && !sample.Last.At.IsZero() {
		return false
	}
	var average point
	averageStamp, averaged := stamp, false
	if !ofNamesake(pod, sample.Avg5m.At) {
		average, averageStamp, averaged = in.podSample(pod, src, &sample.Avg5m, allocatable)
	}
	if !ok {
		last, stamp, ok = average, averageStamp, averaged
	}
	if ok && stamp.measured > ps.newest.measured {
		switch {
		case averaged:
			ps.given = average
		case !ps.newest.fresh(in.second):
			ps.given = point{} // the given mean and this sample are not contiguous
		}
		ps.newest = stamp
		ps.used.push(last, in.store.limits.pod)
	}
	return ok
}

// ofNamesake reports whether a five-minute mean still covers the previous pod
// of the same name.
func ofNamesake(pod *cluster.Pod, at time.Time) bool {
	return pod.Owner.Kind == "StatefulSet" && at.Sub(pod.Started) < Avg5m.Over
}

// podSample checks one sample of a pod. A sample from before the pod started
// belongs to a previous pod of the same name and is not counted as a problem.
func (in *ingestion) podSample(pod *cluster.Pod, src *source, sample *Sample, allocatable cluster.Amounts) (point, sampled, bool) {
	if sample.At.IsZero() || pod.Started.IsZero() || sample.At.Before(pod.Started) {
		return point{}, sampled{}, false
	}
	stamp, cause := in.stamp(src, sample.At)
	if cause == "" && absurd(sample.Used, allocatable) {
		cause = Absurd
	}
	if cause != "" {
		src.problems.Add(cause, "pod "+pod.Key())
		return point{}, sampled{}, false
	}
	return pack(in.second, sample.Used), stamp, true
}

// add adds a running pod to the sums. If an unmeasured pod ran when its node was
// measured, its estimate is added, so that its usage is not attributed to the system.
func (in *ingestion) add(sums *podSums, ps *podSeries, pod *cluster.Pod, measured time.Time) {
	newest, ok := ps.used.newest()
	began := in.store.second(pod.NewestStart(in.store.time(in.second), in.store.config.Startup)) > sums.since
	if !ok {
		sums.unseen = sums.unseen || !pod.Started.IsZero() && in.store.starting(pod, in.second)
		if !pod.Started.IsZero() && !measured.Before(pod.Started) {
			assumed := in.store.assumed(pod, ps)
			sums.used, sums.average = sums.used.Plus(assumed), sums.average.Plus(assumed)
			if began {
				sums.came = sums.came.Plus(assumed)
			}
		}
		return
	}
	used, since := newest.amounts(), in.second-uint32(Avg5m.Over/time.Second)
	average, span := podMean(ps, since)
	settled, span, _ := in.store.settle(pod, ps, in.store.time(in.second), since, average, span)
	if span >= in.store.config.MinWindow && ps.trend.Add(ps.newest.second, settled[cluster.CPU]) {
		if span >= Avg5m.Over-in.store.config.SampleInterval { // (nearly) the whole five minutes
			ps.peak.Add(ps.newest.second, settled[cluster.CPU])
			ps.levels.Add(ps.newest.second, settled[cluster.CPU])
		}
		in.recur(ps, used[cluster.CPU])
	}
	sums.used, sums.average = sums.used.Plus(used), sums.average.Plus(average)
	if began {
		sums.came = sums.came.Plus(used)
		sums.left = sums.left.Plus(ps.used.highest(sums.since).Minus(used))
	}
	if ps.newest.fresh(in.second) {
		sums.sampled = sums.sampled.Plus(used)
		for r := range used {
			sums.least[r] += min(used[r], average[r])
		}
	}
}

// assumed returns the usage that is assumed for a running pod without a fresh sample when
// the system's share is derived: its newest sample, no matter how old, or its estimate.
func (s *Store) assumed(pod *cluster.Pod, ps *podSeries) cluster.Amounts {
	if ps != nil {
		if newest, ok := ps.used.newest(); ok {
			return newest.amounts()
		}
	}
	return s.config.Estimate.Of(pod)
}

// podMean returns a sampled pod's mean since the given second, and the time that it
// covers. The mean is the source's if it provides one, otherwise it is computed from the
// pod's samples.
func podMean(ps *podSeries, since uint32) (cluster.Amounts, time.Duration) {
	average, span, ok := ps.mean(since)
	if !ok {
		newest, _ := ps.used.newest()
		return newest.amounts(), 0
	}
	return average, span
}

// recur adds a pod's sample, in milli-cores, to the search for recurring
// patterns.
func (in *ingestion) recur(ps *podSeries, milliCores int64) {
	workload, clock := in.store.owners.list[ps.owner].workload, in.store.config.Recurs
	if in.part == 0 || workload == nil {
		return
	}
	ps.deviation.Add(workload.pattern(), in.part, milliCores, in.store.config.SampleInterval.Seconds()/(lookedBack*clock.Length().Seconds()))
	workload.add(in.part, milliCores)
}

// lookedBack is the number of busy parts over which a pod's deviation from its
// workload's other pods is averaged.
const lookedBack = 6
