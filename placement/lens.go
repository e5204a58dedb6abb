package placement

import (
	"fmt"
	"slices"

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

// PodGroupStates returns nil: no enabled plugin looks at pod groups.
func (l *lens) PodGroupStates() fwk.PodGroupStateLister { return nil }

// List returns the nodes in focus.
func (l *lens) List() ([]fwk.NodeInfo, error) { return l.nodes, nil }

// HavePodsWithAffinityList returns nothing: only scoring reads it.
func (l *lens) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) { return nil, nil }

// HavePodsWithRequiredAntiAffinityList returns the nodes in focus for the
// required anti-affinity of existing pods.
func (l *lens) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return l.antiNodes, nil
}

// Get returns an error: no enabled plugin looks up a node by name.
func (l *lens) Get(nodeName string) (fwk.NodeInfo, error) {
	return nil, fmt.Errorf("looking up node %q: not available to filters", nodeName)
}

// IsPVCUsedByPods reports whether a pod uses the claim "namespace/name".
func (l *lens) IsPVCUsedByPods(key string) bool {
	return slices.ContainsFunc(l.claims[key], func(p *podEntry) bool { return p.visible(l.world) })
}

// blur drops what the lens was focused on before.
func (l *lens) blur() {
	l.epoch++
	l.nodes, l.antiNodes, l.claims = nil, l.antiNodes[:0], nil
}

var _ fwk.NodeInfo = (*nodeView)(nil)

// GetPods returns the pods in focus.
func (v *nodeView) GetPods() []fwk.PodInfo {
	if v.podsEpoch != v.lens.epoch {
		return nil
	}
	return v.pods
}

// GetPodsWithRequiredAntiAffinity returns those of the pods with required
// anti-affinity that are in focus.
func (v *nodeView) GetPodsWithRequiredAntiAffinity() []fwk.PodInfo {
	if v.antiEpoch != v.lens.epoch {
		return nil
	}
	return v.anti
}

// addPod brings a pod into focus and reports whether it is the node's first.
func (v *nodeView) addPod(p *podEntry) bool {
	first := v.podsEpoch != v.lens.epoch
	if first {
		v.podsEpoch, v.pods = v.lens.epoch, v.pods[:0]
	}
	v.pods = append(v.pods, p)
	return first
}

// addAnti does the same for a pod with required anti-affinity.
func (v *nodeView) addAnti(p *podEntry) bool {
	first := v.antiEpoch != v.lens.epoch
	if first {
		v.antiEpoch, v.anti = v.lens.epoch, v.anti[:0]
	}
	v.anti = append(v.anti, p)
	return first
}
