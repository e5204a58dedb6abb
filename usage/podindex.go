package usage

import "hash/maphash"

// podIndex finds pods' series by name. It holds no names, only places: a map of them takes ten times as much.
type podIndex struct {
	seed maphash.Seed
	// slots hold the places of series, counted from 1, each in the first free slot from where its name's hash points; 0 is free.
	// Their number is a power of two, and at least a quarter of them are free.
	slots []int32
}

// newPodIndex indexes series by their places.
func newPodIndex(series []*podSeries) podIndex {
	size := 1
	for 3*size < 4*(len(series)+1) {
		size *= 2
	}
	x := podIndex{seed: maphash.MakeSeed(), slots: make([]int32, size)}
	for place, ps := range series {
		x.slots[x.slot(series, ps.pod.Namespace, ps.pod.Name)] = int32(place) + 1 //nolint:gosec // a cluster has fewer than 2^31 pods
	}
	return x
}

// slot returns the slot that has the pod, or else the one it belongs in.
func (x *podIndex) slot(series []*podSeries, namespace, name string) uint64 {
	last := uint64(len(x.slots)) - 1
	for slot := (31*maphash.String(x.seed, name) + maphash.String(x.seed, namespace)) & last; ; slot = (slot + 1) & last {
		place := x.slots[slot]
		if place == 0 || series[place-1].pod.Name == name && series[place-1].pod.Namespace == namespace {
			return slot
		}
	}
}

// pod returns the series of a pod by its name, or nil.
func (s *Store) pod(namespace, name string) *podSeries {
	if len(s.order) == 0 {
		return nil
	}
	if place := s.index.slots[s.index.slot(s.order, namespace, name)]; place > 0 {
		return s.order[place-1]
	}
	return nil
}
