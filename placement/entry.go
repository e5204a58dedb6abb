package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// world is one of the two states of the cluster that a replacement is judged in.
type world int

const (
	// gone: the moved pods have left their nodes.
	gone world = iota
	// terminating: the moved pods still count where they were.
	terminating
)

// podEntry is a pod on a node. It is the fwk.PodInfo that plugins see: its
// parsed affinity terms belong to its group and its requests are shared with
// equal pods of the group, so that a pod costs little more than its pointer.
type podEntry struct {
	pod      *v1.Pod
	node     *nodeEntry
	group    *group
	position int // among the group's members
	requests *fwk.PodResource

	// generation is that of the last Sync that listed the pod.
	generation uint64
	// moved: a session has moved the pod away, so it is not in the world gone.
	moved bool
	// hidden: left out of both worlds while a state is computed without it.
	hidden bool
}

var _ fwk.PodInfo = (*podEntry)(nil)

// GetPod returns the pod.
func (p *podEntry) GetPod() *v1.Pod { return p.pod }

// GetRequiredAffinityTerms returns the parsed terms of the group.
func (p *podEntry) GetRequiredAffinityTerms() []fwk.AffinityTerm {
	return p.group.terms.RequiredAffinityTerms
}

// GetRequiredAntiAffinityTerms returns the parsed terms of the group.
func (p *podEntry) GetRequiredAntiAffinityTerms() []fwk.AffinityTerm {
	return p.group.terms.RequiredAntiAffinityTerms
}

// GetPreferredAffinityTerms returns the parsed terms of the group.
func (p *podEntry) GetPreferredAffinityTerms() []fwk.WeightedAffinityTerm {
	return p.group.terms.PreferredAffinityTerms
}

// GetPreferredAntiAffinityTerms returns the parsed terms of the group.
func (p *podEntry) GetPreferredAntiAffinityTerms() []fwk.WeightedAffinityTerm {
	return p.group.terms.PreferredAntiAffinityTerms
}

// CalculateResource returns the pod's requests.
func (p *podEntry) CalculateResource() fwk.PodResource { return *p.requests }

// countsAlike says whether a newer version of the pod adds up to the same on its
// node and is in the same group, as when only its status has changed.
func (p *podEntry) countsAlike(newer *v1.Pod) bool {
	return p.group.holds(newer) && p.group.shareRequests(newer) == p.requests &&
		slices.Equal(util.GetHostPorts(p.pod), util.GetHostPorts(newer)) &&
		slices.Equal(slices.Collect(claimKeys(p.pod)), slices.Collect(claimKeys(newer))) &&
		len(p.pod.Status.NodeAllocatableResourceClaimStatuses)+len(newer.Status.NodeAllocatableResourceClaimStatuses) == 0
}

func (p *podEntry) visible(w world) bool {
	return !p.hidden && (w == terminating || !p.moved)
}

// nodeEntry is a node of the snapshot with its pods.
type nodeEntry struct {
	node *v1.Node
	// pods may hold entries that have left, until the next rebuild.
	pods []*podEntry
	info *framework.NodeInfo
	view *nodeView

	generation uint64
	dirty      bool
	// overlay is what an open session has changed, nil for nothing.
	overlay *overlay
}

// rebuild drops the pods that have left and computes the sums anew. Sums are
// never updated by subtraction: NodeInfo forgets a host port with the first of
// two pods that hold it.
func (n *nodeEntry) rebuild() {
	kept := n.pods[:0]
	for _, p := range n.pods {
		if p.node == n {
			kept = append(kept, p)
		}
	}
	clear(n.pods[len(kept):])
	n.pods = kept
	n.info = newNodeInfo(n.node, len(kept))
	for _, p := range kept {
		n.info.AddPodInfo(p)
	}
	n.view.NodeInfo = n.info
	n.dirty = false
}

func newNodeInfo(node *v1.Node, pods int) *framework.NodeInfo {
	info := framework.NewNodeInfo()
	info.Pods = make([]fwk.PodInfo, 0, pods)
	info.SetNode(node)
	return info
}
