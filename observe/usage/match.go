package usage

import (
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
)

// adopt assigns every pod of the snapshot its series and drops the series of
// pods that are gone.
func (in *ingestion) adopt(snapshot *cluster.Snapshot) {
	in.series = make([]*podSeries, 0, len(in.store.order))
	in.adopted = make([]*cluster.Pod, 0, len(in.store.order))
	next := 0
	for _, node := range snapshot.Nodes {
		for _, pod := range node.Pods {
			ps := in.store.series(pod, &next)
			if ps == nil {
				ps = &podSeries{pod: pod, owner: in.store.owners.hold(pod)}
				in.store.index.add(ps)
			}
			in.adopted = append(in.adopted, pod)
			in.series = append(in.series, ps)
		}
	}
	changed := !slices.Equal(in.series, in.store.order)
	for place, ps := range in.series {
		ps.place = listPlace(place)
		if pod := in.adopted[place]; ps.pod != pod {
			former := ps.owner
			ps.pod, ps.owner = pod, in.store.owners.hold(pod)
			in.store.owners.release(former)
		}
	}
	if changed {
		in.forget()
	}
	in.store.order, in.adopted = in.series, nil
}

// forget drops the series of the pods that are gone.
func (in *ingestion) forget() {
	for _, ps := range in.store.order {
		if ps.place == gone {
			continue // the previous snapshot listed the pod twice
		}
		if place := int(ps.place); place >= len(in.series) || in.series[place] != ps {
			in.leave(ps)
			in.store.index.remove(ps)
			in.store.owners.release(ps.owner)
			ps.place = gone
		}
	}
}

// leave records the usage of a departed pod, which its node's next sample may
// still include.
func (in *ingestion) leave(ps *podSeries) {
	ns := in.store.nodes[ps.pod.Node]
	if ns == nil || ps.pod.Started.IsZero() {
		return
	}
	if in.left == nil {
		in.left = map[string]cluster.Amounts{}
	}
	used := in.store.assumed(ps.pod, ps)
	for k, most := range ps.used.highest(ns.reach()) {
		used[k] = max(used[k], most)
	}
	in.left[ps.pod.Node] = in.left[ps.pod.Node].Plus(used)
}

// open indexes a Batch.
func (in *ingestion) open(batch *Batch) source {
	src := source{
		batch: batch, second: in.store.second(batch.Received), maxAge: batch.MaxAge,
		nodes: make(map[string]listPlace, len(batch.Nodes)),
	}
	if src.maxAge <= 0 {
		src.maxAge = in.store.config.MaxAge
	}
	src.problems.Merge(batch.Problems)
	for i := range batch.Nodes {
		name := batch.Nodes[i].Name
		if _, ok := src.nodes[name]; ok {
			src.problems.Add(Duplicate, "node "+name)
			continue
		}
		src.nodes[name] = listPlace(i)
	}
	src.pods = in.match(batch, &src.problems)
	return src
}

// match returns the places of the pods' samples in a Batch, as in source.pods.
func (in *ingestion) match(batch *Batch, problems *Problems) []listPlace {
	places := make([]listPlace, len(in.series))
	if len(batch.Pods) == 0 {
		return places
	}
	before, matched, next := in.store.batches[batch.Source], make([]*podSeries, len(batch.Pods)), 0
	for i := range batch.Pods {
		sample := &batch.Pods[i]
		switch ps := in.store.sampled(sample, before, &next); {
		case ps == nil:
			problems.Add(UnmatchedPod, "pod "+sample.Namespace+"/"+sample.Name)
		case places[ps.place] > 0:
			problems.Add(Duplicate, "pod "+sample.Namespace+"/"+sample.Name)
		default:
			places[ps.place] = listPlace(i) + 1
			matched[i], ps.inBatch = ps, listPlace(i)
		}
	}
	in.store.batches[batch.Source] = matched
	return places
}

// unmatched counts the nodes that are not in the snapshot; the others have
// already been removed from the index.
func (src *source) unmatched() {
	for i := range src.batch.Nodes {
		name := src.batch.Nodes[i].Name
		if k, ok := src.nodes[name]; ok && int(k) == i {
			src.problems.Add(UnmatchedNode, "node "+name)
		}
	}
}
