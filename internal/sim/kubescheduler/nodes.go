package kubescheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// nodes are the nodes with their pods, as the plugins list them.
type nodes struct {
	infos []fwk.NodeInfo // in the order of their names
	names []string
	own   []*framework.NodeInfo // the same as infos
	// versions change with their nodes.
	versions []int64
	byName   map[string]int
	// bare says that no node has a taint or is cordoned.
	bare bool
	// affinePods counts the pods with affinity or anti-affinity.
	affinePods int
	// affine and repelling count the pods with affinity, and with required
	// anti-affinity, per node.
	affine, repelling map[string]int
}

var (
	_ fwk.SharedLister      = (*nodes)(nil)
	_ fwk.NodeInfoLister    = (*nodes)(nil)
	_ fwk.StorageInfoLister = (*nodes)(nil)
)

func newNodes(known []*v1.Node) *nodes {
	n := &nodes{byName: map[string]int{}, bare: true, affine: map[string]int{}, repelling: map[string]int{}}
	sorted := slices.SortedFunc(slices.Values(known), func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	for i, node := range sorted {
		info := framework.NewNodeInfo()
		info.SetNode(node)
		n.infos, n.own = append(n.infos, info), append(n.own, info)
		n.names, n.versions = append(n.names, node.Name), append(n.versions, 1)
		n.byName[node.Name] = i
		n.bare = n.bare && len(node.Spec.Taints) == 0 && !node.Spec.Unschedulable
	}
	return n
}

func (n *nodes) add(pod *v1.Pod) error {
	info, err := n.changed(pod)
	if err != nil {
		return err
	}
	info.AddPod(pod)
	n.count(pod, 1)
	return nil
}

func (n *nodes) remove(ctx context.Context, pod *v1.Pod) error {
	info, err := n.changed(pod)
	if err != nil {
		return err
	}
	n.count(pod, -1)
	if err := info.RemovePod(klog.FromContext(ctx), pod); err != nil {
		return fmt.Errorf("removing pod %q: %w", pod.Name, err)
	}
	return nil
}

// changed returns the node of a bound pod, which is about to change.
func (n *nodes) changed(pod *v1.Pod) (*framework.NodeInfo, error) {
	i, ok := n.byName[pod.Spec.NodeName]
	if !ok {
		return nil, fmt.Errorf("pod %q is bound to node %q, which is not known", pod.Name, pod.Spec.NodeName)
	}
	n.versions[i]++
	return n.own[i], nil
}

func (n *nodes) count(pod *v1.Pod, by int) {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.PodAffinity == nil && affinity.PodAntiAffinity == nil {
		return
	}
	n.affinePods += by
	n.affine[pod.Spec.NodeName] += by
	if anti := affinity.PodAntiAffinity; anti != nil && len(anti.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		n.repelling[pod.Spec.NodeName] += by
	}
}

// NodeInfos returns the lister of nodes.
func (n *nodes) NodeInfos() fwk.NodeInfoLister { return n }

// StorageInfos returns the lister of claims in use.
func (n *nodes) StorageInfos() fwk.StorageInfoLister { return n }

// PodGroupStates returns nil: there are no pod groups.
func (n *nodes) PodGroupStates() fwk.PodGroupStateLister { return nil }

// List returns all nodes.
func (n *nodes) List() ([]fwk.NodeInfo, error) { return n.infos, nil }

// HavePodsWithAffinityList returns the nodes with a pod that has affinity or
// anti-affinity.
func (n *nodes) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) { return n.with(n.affine), nil }

// HavePodsWithRequiredAntiAffinityList returns the nodes with a pod that has
// required anti-affinity.
func (n *nodes) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return n.with(n.repelling), nil
}

func (n *nodes) with(counts map[string]int) []fwk.NodeInfo {
	if len(counts) == 0 {
		return nil
	}
	var some []fwk.NodeInfo
	for _, info := range n.infos {
		if counts[info.Node().Name] > 0 {
			some = append(some, info)
		}
	}
	return some
}

// Get returns a node.
func (n *nodes) Get(name string) (fwk.NodeInfo, error) {
	if i, ok := n.byName[name]; ok {
		return n.infos[i], nil
	}
	return nil, fmt.Errorf("node %q is not known", name)
}

// IsPVCUsedByPods says that no claim is in use: there are none.
func (n *nodes) IsPVCUsedByPods(string) bool { return false }
