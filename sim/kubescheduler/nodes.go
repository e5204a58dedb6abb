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

// nodes holds the nodes with their pods, in the form in which plugins list them.
type nodes struct {
	infos  []fwk.NodeInfo // in the order of their names
	names  []string
	byName map[string]*framework.NodeInfo // the same nodes as in infos
	// bare means that no node is tainted or cordoned.
	bare bool
	// affinePods is the number of pods with affinity or anti-affinity.
	affinePods int
}

var (
	_ fwk.SharedLister      = (*nodes)(nil)
	_ fwk.NodeInfoLister    = (*nodes)(nil)
	_ fwk.StorageInfoLister = (*nodes)(nil)
)

func newNodes(known []*v1.Node) *nodes {
	n := &nodes{byName: map[string]*framework.NodeInfo{}, bare: true}
	sorted := slices.SortedFunc(slices.Values(known), func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	for _, node := range sorted {
		info := framework.NewNodeInfo()
		info.SetNode(node)
		n.infos, n.names, n.byName[node.Name] = append(n.infos, info), append(n.names, node.Name), info
		n.bare = n.bare && isBare(node)
	}
	return n
}

func isBare(node *v1.Node) bool { return len(node.Spec.Taints) == 0 && !node.Spec.Unschedulable }

// taint replaces a node's taints.
func (n *nodes) taint(name string, taints []v1.Taint) error {
	info, ok := n.byName[name]
	if !ok {
		return fmt.Errorf("node %q is unknown", name)
	}
	if slices.Equal(info.Node().Spec.Taints, taints) {
		return nil
	}
	node := new(*info.Node()) // the caller's object must not change
	node.Spec.Taints = taints
	info.SetNode(node)
	n.bare = !slices.ContainsFunc(n.infos, func(other fwk.NodeInfo) bool { return !isBare(other.Node()) })
	return nil
}

func (n *nodes) add(pod *v1.Pod) error {
	info, err := n.of(pod)
	if err != nil {
		return err
	}
	n.affinePods -= len(info.PodsWithAffinity)
	info.AddPod(pod)
	n.affinePods += len(info.PodsWithAffinity)
	return nil
}

func (n *nodes) remove(ctx context.Context, pod *v1.Pod) error {
	info, err := n.of(pod)
	if err != nil {
		return err
	}
	n.affinePods -= len(info.PodsWithAffinity)
	defer func() { n.affinePods += len(info.PodsWithAffinity) }()
	if err := info.RemovePod(klog.FromContext(ctx), pod); err != nil {
		return fmt.Errorf("removing pod %q: %w", pod.Name, err)
	}
	return nil
}

// of returns the node of a bound pod.
func (n *nodes) of(pod *v1.Pod) (*framework.NodeInfo, error) {
	info, ok := n.byName[pod.Spec.NodeName]
	if !ok {
		return nil, fmt.Errorf("pod %q is bound to node %q, which is unknown", pod.Name, pod.Spec.NodeName)
	}
	return info, nil
}

// NodeInfos returns the lister of nodes.
func (n *nodes) NodeInfos() fwk.NodeInfoLister { return n }

// StorageInfos returns the lister of claims in use.
func (n *nodes) StorageInfos() fwk.StorageInfoLister { return n }

// PodGroupStates returns nil, because there are no pod groups.
func (n *nodes) PodGroupStates() fwk.PodGroupStateLister { return nil }

// List returns all nodes.
func (n *nodes) List() ([]fwk.NodeInfo, error) { return n.infos, nil }

// HavePodsWithAffinityList returns the nodes with a pod that has affinity or
// anti-affinity.
func (n *nodes) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return n.with(fwk.NodeInfo.GetPodsWithAffinity), nil
}

// HavePodsWithRequiredAntiAffinityList returns the nodes with a pod that has
// required anti-affinity.
func (n *nodes) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return n.with(fwk.NodeInfo.GetPodsWithRequiredAntiAffinity), nil
}

func (n *nodes) with(pods func(fwk.NodeInfo) []fwk.PodInfo) []fwk.NodeInfo {
	if n.affinePods == 0 {
		return nil
	}
	var some []fwk.NodeInfo
	for _, info := range n.infos {
		if len(pods(info)) > 0 {
			some = append(some, info)
		}
	}
	return some
}

// Get returns a node.
func (n *nodes) Get(name string) (fwk.NodeInfo, error) {
	if info, ok := n.byName[name]; ok {
		return info, nil
	}
	return nil, fmt.Errorf("node %q is unknown", name)
}

// IsPVCUsedByPods returns false, because there are no claims.
func (n *nodes) IsPVCUsedByPods(string) bool { return false }
