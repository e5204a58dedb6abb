package placement

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

var (
	_ fwk.SharedLister      = (*lens)(nil)
	_ fwk.NodeInfoLister    = (*lens)(nil)
	_ fwk.StorageInfoLister = (*lens)(nil)
)

// NodeInfos returns the lister of nodes.
func (l *lens) NodeInfos() fwk.NodeInfoLister { return l }

// StorageInfos returns the lister of claims in use.
func (l *lens) StorageInfos() fwk.StorageInfoLister { return l }

// PodGroupStates returns nil because no enabled plugin reads pod groups.
func (l *lens) PodGroupStates() fwk.PodGroupStateLister { return nil }

// List returns the nodes in focus.
func (l *lens) List() ([]fwk.NodeInfo, error) { return l.nodes, nil }

// HavePodsWithAffinityList returns the nodes in focus. Only scoring reads it.
func (l *lens) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) { return l.nodes, nil }

// HavePodsWithRequiredAntiAffinityList returns the nodes in focus for the
// required anti-affinity of existing pods.
func (l *lens) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return l.antiNodes, nil
}

// Get returns an error because no enabled plugin looks up a node by name.
func (l *lens) Get(nodeName string) (fwk.NodeInfo, error) {
	return nil, fmt.Errorf("looking up node %q: not available to filters", nodeName)
}

// IsPVCUsedByPods reports whether a pod uses the claim "namespace/name".
func (l *lens) IsPVCUsedByPods(key string) bool {
	return slices.ContainsFunc(l.claims[key], func(p *podEntry) bool { return p.visible(l.world) })
}

// blur drops the previous focus.
func (l *lens) blur() {
	l.epoch++
	l.nodes, l.antiNodes, l.claims = nil, l.antiNodes[:0], nil
}

var _ fwk.NodeInfo = (*nodeView)(nil)

// counted is a pod in focus. Plugins count it by its namespace and labels,
// unless it is being deleted.
type counted struct{ *podEntry }

// GetPod returns a pod that plugins count like this one. It is the same pod for the whole
// group, so it stays in a CPU cache; thousands of different pods would not.
func (c counted) GetPod() *v1.Pod {
	if first := c.group.members[0]; first.deleted == c.deleted {
		return first.pod
	}
	return c.pod
}

// GetPods returns the pods in focus.
func (v *nodeView) GetPods() []fwk.PodInfo {
	return v.pods.in(v.lens.epoch)
}

// GetPodsWithAffinity returns all pods in focus, because pods without a term
// score nothing.
func (v *nodeView) GetPodsWithAffinity() []fwk.PodInfo { return v.GetPods() }

// GetPodsWithRequiredAntiAffinity returns the pods with required anti-affinity
// that are in focus.
func (v *nodeView) GetPodsWithRequiredAntiAffinity() []fwk.PodInfo {
	return v.anti.in(v.lens.epoch)
}

func (f *focused) in(epoch uint64) []fwk.PodInfo {
	if f.epoch != epoch {
		return nil
	}
	return f.pods
}

// add brings a pod into focus and reports whether it is the first one.
func (f *focused) add(epoch uint64, p *podEntry) (first bool) {
	if first = f.epoch != epoch; first {
		f.epoch, f.pods = epoch, f.pods[:0]
	}
	f.pods = append(f.pods, counted{p})
	return first
}
