package usage

import (
	"hash/maphash"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Ingest takes in what the sources had at one moment, first choice first,
// matched against the snapshot of the same moment: each node and each pod takes
// the first fresh and sane sample. Series of nodes and pods that are no longer
// in the snapshot are dropped, so the store is bounded by the cluster. Batches
// from before the newest ones mean that the clock went backwards: what was kept
// has no age any more, and the store starts anew. It returns the problems per
// source.
func (s *Store) Ingest(snapshot *cluster.Snapshot, batches ...Batch) map[string]Problems {
	in := ingestion{store: s, sources: make([]source, len(batches)), read: newReadings(len(s.metrics), len(s.windows))}
	for i := range batches {
		in.hasPods = in.hasPods || len(batches[i].Pods) > 0
		in.second = max(in.second, s.second(batches[i].Received))
	}
	s.advance(&in, len(batches) > 0)
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

// advance moves the store's clock, and starts anew where it went backwards.
func (s *Store) advance(in *ingestion, told bool) {
	if !told {
		return
	}
	if in.second < s.newest {
		s.nodes, s.order, s.index, s.owners, s.families = map[string]*nodeSeries{}, nil, newPodIndex(), newOwners(s.owners.seed), nil
		clear(s.batches)
	}
	s.newest = in.second
	if in.hasPods {
		s.told = in.second
	}
}

// node takes in one node and its pods. The system's share is what the node used
// beyond its pods.
func (in *ingestion) node(node *cluster.NodePods) *nodeSeries {
	ns := in.store.nodes[node.Node.Name]
	if ns == nil {
		ns = &nodeSeries{metrics: make([]metricSeries, len(in.store.metrics))}
		for m := range ns.metrics {
			ns.metrics[m].given = make([]given, len(in.store.windows))
		}
	}
	sums := in.pods(node, in.told(node.Node.Name))
	if ns.members != sums.members {
		ns.members, ns.changed = sums.members, in.second
	}
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
	if node.Node.Ready && !taken {
		in.store.lacking++
	}
	return ns
}

// told is when the node was measured by the source that is asked first; zero
// where none reports it.
func (in *ingestion) told(name string) time.Time {
	for i := range in.sources {
		if k, ok := in.sources[i].nodes[name]; ok && len(in.sources[i].batch.Nodes[k].Readings) > 0 {
			return in.sources[i].batch.Nodes[k].Readings[0].At
		}
	}
	return time.Time{}
}

// pods takes in the pods of a node that was measured at a time.
func (in *ingestion) pods(node *cluster.NodePods, told time.Time) podSums {
	var sums podSums
	for _, pod := range node.Pods {
		ps, taken := in.series[in.next], false
		in.next++
		for i := range in.sources {
			src := &in.sources[i]
			if k := src.pods[ps.place]; k > 0 {
				taken = taken || in.pod(ps, pod, src, &src.batch.Pods[k-1], node.Node.Allocatable)
			}
		}
		in.add(&sums, ps, pod, told)
		if !pod.Started.IsZero() {
			sums.members += maphash.String(in.store.owners.seed, pod.UID)
		}
	}
	return sums
}

// pod takes in one pod's sample, unless there is something wrong with it.
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
			ps.given = point{} // between it and this sample nobody looked
		}
		ps.newest = stamp
		ps.used.push(last, in.store.limits.pod)
	}
	return ok
}

// ofNamesake reports whether a mean of five minutes is in part that of the pod
// of the same name before.
func ofNamesake(pod *cluster.Pod, at time.Time) bool {
	return pod.Owner.Kind == "StatefulSet" && at.Sub(pod.Started) < Avg5m.Over
}

// podSample checks one sample of a pod. One from before the pod started is of a
// namesake, which is no mistake.
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

// add adds a running pod to the sums; one that is not measured yet, but ran
// when its node was, with its estimate, so that it does not pass for system.
func (in *ingestion) add(sums *podSums, ps *podSeries, pod *cluster.Pod, told time.Time) {
	newest, ok := ps.used.newest()
	if !ok {
		if !pod.Started.IsZero() && !told.Before(pod.Started) {
			estimate := in.store.config.Estimate.Of(pod)
			sums.used, sums.average = sums.used.Plus(estimate), sums.average.Plus(estimate)
		}
		return
	}
	used, average := newest.amounts(), in.store.podMean(ps, in.second)
	sums.used, sums.average = sums.used.Plus(used), sums.average.Plus(average)
	if ps.newest.fresh(in.second) {
		sums.sampled = sums.sampled.Plus(used)
		for r := range used {
			sums.least[r] += min(used[r], average[r])
		}
	}
}

// podMean is the mean of five minutes of a pod that was sampled: as given, else
// over its samples.
func (s *Store) podMean(ps *podSeries, now uint32) cluster.Amounts {
	average, _, ok := ps.mean(now - uint32(Avg5m.Over/time.Second))
	if !ok {
		newest, _ := ps.used.newest()
		return newest.amounts()
	}
	return average
}
