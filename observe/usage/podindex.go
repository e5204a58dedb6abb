package usage

import "hash/maphash"

// podIndex finds pods' series by name. It stores hashes with a secret seed, because names
// would take several times the memory.
type podIndex struct {
	seed   maphash.Seed
	series map[uint64]*podSeries
}

func newPodIndex() podIndex {
	return podIndex{seed: maphash.MakeSeed(), series: map[uint64]*podSeries{}}
}

// pod returns the series of a pod by its name, or nil.
func (x *podIndex) pod(namespace, name string) *podSeries {
	if ps := x.series[hashOf(x.seed, namespace, name)]; ps != nil && ps.isOf(namespace, name) {
		return ps
	}
	return nil
}

// add adds the series of a pod, replacing one of the same name.
func (x *podIndex) add(ps *podSeries) {
	x.series[hashOf(x.seed, ps.pod.Namespace, ps.pod.Name)] = ps
}

// remove removes a series unless another pod has taken its name.
func (x *podIndex) remove(ps *podSeries) {
	if x.pod(ps.pod.Namespace, ps.pod.Name) == ps {
		delete(x.series, hashOf(x.seed, ps.pod.Namespace, ps.pod.Name))
	}
}
