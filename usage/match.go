package usage

import (
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// source is one Batch with an index of what it has.
type source struct {
	batch  *Batch
	second uint32
	maxAge time.Duration
	nodes  map[string]int32
	// pods has, parallel to ingestion.series, the place of the pod in the Batch, counted from 1; 0 where it has none.
	pods     []int32
	problems Problems
}

// adopt gives every pod of the snapshot its series, and forgets those of pods that are gone.
func (in *ingestion) adopt(snapshot *cluster.Snapshot) {
	in.series = make([]*podSeries, 0, len(in.store.order))
	in.adopted = make([]*cluster.Pod, 0, len(in.store.order))
	next := 0
	for _, node := range snapshot.Nodes {
		for _, pod := range node.Pods {
			ps := in.store.series(pod, &next)
			if ps == nil {
				ps = &podSeries{}
			}
			in.adopted = append(in.adopted, pod)
			in.series = append(in.series, ps)
		}
	}
	changed := !slices.Equal(in.series, in.store.order)
	for place, ps := range in.series {
		ps.place, ps.pod = int32(place), in.adopted[place] //nolint:gosec // a cluster has fewer than 2^31 pods
	}
	in.store.order, in.adopted = in.series, nil
	if changed {
		in.store.index = newPodIndex(in.series)
	}
}

// series returns the series of a pod, or nil. Pods come mostly in the order of the snapshot last taken in; next is the place
// that is tried first, because looking a pod up costs more than all else that is done with it.
func (s *Store) series(pod *cluster.Pod, next *int) *podSeries {
	if *next < len(s.order) && s.order[*next].pod.UID == pod.UID && pod.UID != "" {
		*next++
		return s.order[*next-1]
	}
	ps := s.pod(pod.Namespace, pod.Name)
	if ps == nil || ps.pod.UID != pod.UID {
		return nil
	}
	*next = int(ps.place) + 1
	return ps
}

// open indexes what a Batch has.
func (in *ingestion) open(batch *Batch) source {
	src := source{
		batch: batch, second: in.store.second(batch.Received), maxAge: batch.MaxAge,
		nodes: make(map[string]int32, len(batch.Nodes)),
		pods:  make([]int32, len(in.series)),
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
		src.nodes[name] = int32(i) //nolint:gosec // a cluster has fewer than 2^31 nodes
	}
	for i := range batch.Pods {
		sample := &batch.Pods[i]
		switch ps := in.store.pod(sample.Namespace, sample.Name); {
		case ps == nil:
			src.problems.Add(UnmatchedPod, "pod "+sample.Namespace+"/"+sample.Name)
		case src.pods[ps.place] > 0:
			src.problems.Add(Duplicate, "pod "+sample.Namespace+"/"+sample.Name)
		default:
			src.pods[ps.place] = int32(i) + 1 //nolint:gosec // as above
		}
	}
	return src
}

// unmatched counts the nodes that are not in the snapshot; those that are have left the index.
func (src *source) unmatched() {
	for i := range src.batch.Nodes {
		name := src.batch.Nodes[i].Name
		if k, ok := src.nodes[name]; ok && int(k) == i {
			src.problems.Add(UnmatchedNode, "node "+name)
		}
	}
}
