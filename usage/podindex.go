package usage

import "hash/maphash"

// slotPlace is a place in the series of a podIndex, counted from 1.
type slotPlace int32

// podIndex finds pods' series by name. It holds no names, only places: a map of
// them takes ten times as much.
type podIndex struct {
	seed maphash.Seed
	// slots hold places in series, counted from 1, each in the first free slot
	// from where its name's hash points; 0 is free. Their number is a power of
	// two, and at least a quarter of them are free.
	slots []slotPlace
	// series are in the order in which they came; nil stands for one that left,
	// whose slot is free once the index is renewed.
	series []*podSeries
	// left is how many of them are nil.
	left int
}

// slot returns the slot that has the pod, or else the one it belongs in.
func (x *podIndex) slot(namespace, name string) uint64 {
	last := uint64(len(x.slots)) - 1
	for slot := (31*maphash.String(x.seed, name) + maphash.String(x.seed, namespace)) & last; ; slot = (slot + 1) & last {
		place := x.slots[slot]
		if place == 0 || x.series[place-1] != nil && x.series[place-1].isOf(namespace, name) {
			return slot
		}
	}
}

// pod returns the series of a pod by its name, or nil.
func (x *podIndex) pod(namespace, name string) *podSeries {
	if len(x.series) == 0 {
		return nil
	}
	if place := x.slots[x.slot(namespace, name)]; place > 0 {
		return x.series[place-1]
	}
	return nil
}

// add adds the series of a pod, instead of one of the same name.
func (x *podIndex) add(ps *podSeries) {
	if 4*(len(x.series)+1) > 3*len(x.slots) {
		x.renew()
	}
	slot := x.slot(ps.pod.Namespace, ps.pod.Name)
	if place := x.slots[slot]; place > 0 {
		x.series[place-1] = ps
		return
	}
	x.series = append(x.series, ps)
	x.slots[slot] = slotPlace(len(x.series))
}

// remove removes a series, unless another one has its name by now.
func (x *podIndex) remove(ps *podSeries) {
	if len(x.series) == 0 {
		return
	}
	if place := x.slots[x.slot(ps.pod.Namespace, ps.pod.Name)]; place > 0 && x.series[place-1] == ps {
		x.series[place-1] = nil
		x.left++
	}
}

// renew forgets those that left, and makes room for more.
func (x *podIndex) renew() {
	before := x.series
	size := 4
	for 2*size < 3*(len(before)-x.left+1) {
		size *= 2
	}
	*x = podIndex{seed: maphash.MakeSeed(), slots: make([]slotPlace, size), series: make([]*podSeries, 0, size*3/4)}
	for _, ps := range before {
		if ps != nil {
			x.add(ps)
		}
	}
}
