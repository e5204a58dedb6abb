package placement

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// touch returns the node's overlay for changing it, and invalidates what was derived from
// it.
func (n *nodeEntry) touch() *overlay {
	if n.overlay == nil {
		n.overlay = &overlay{}
	}
	n.overlay.infos, n.judged = [2]*framework.NodeInfo{}, judged{}
	return n.overlay
}

// arrive adds a replacement. It also updates the sums, which is safe because
// addition, unlike subtraction, is exact.
func (n *nodeEntry) arrive(p *podEntry) {
	if n.overlay == nil {
		n.overlay = &overlay{}
	}
	n.overlay.arrived, n.judged = append(n.overlay.arrived, p), judged{}
	for _, info := range n.overlay.infos {
		if info != nil {
			info.AddPodInfo(p)
		}
	}
}

func (o *overlay) remove(p *podEntry) {
	if i := slices.Index(o.arrived, p); i >= 0 {
		o.arrived = append(o.arrived[:i:i], o.arrived[i+1:]...)
	}
}

// settle drops an overlay without changes.
func (n *nodeEntry) settle() {
	if n.overlay.left == 0 && len(n.overlay.arrived) == 0 {
		n.overlay = nil
	}
}

// infoIn returns the node's state in a world.
func (n *nodeEntry) infoIn(w world) *framework.NodeInfo {
	o := n.overlay
	if o == nil {
		return n.info
	}
	if o.left == 0 {
		w = gone // the worlds do not differ
	}
	if o.infos[w] == nil {
		o.infos[w] = n.changed(w)
	}
	return o.infos[w]
}

// changed computes the node's sums in a world. If pods have only arrived, it starts from
// the existing sums.
func (n *nodeEntry) changed(w world) *framework.NodeInfo {
	if n.overlay.left > 0 {
		return n.sum(w, nil)
	}
	info := n.info.SnapshotConcrete()
	for _, p := range n.overlay.arrived {
		info.AddPodInfo(p)
	}
	return info
}

// sum computes the node's state in a world without one of its pods.
func (n *nodeEntry) sum(w world, except *podEntry) *framework.NodeInfo {
	var arrived []*podEntry
	if n.overlay != nil {
		arrived = n.overlay.arrived
	}
	info := newNodeInfo(n.node, len(n.pods)+len(arrived))
	for _, p := range n.pods {
		if p != except && p.visible(w) {
			info.AddPodInfo(p)
		}
	}
	for _, p := range arrived {
		info.AddPodInfo(p)
	}
	return info
}

// differs reports whether the node differs between the two worlds.
func (n *nodeEntry) differs() bool { return n.overlay != nil && n.overlay.left > 0 }

// rebuild drops the pods that have left and recomputes the sums. Sums are never updated
// by subtraction, because NodeInfo drops a host port as soon as the first of two pods
// that use it is removed.
func (n *nodeEntry) rebuild() {
	n.pods = slices.DeleteFunc(n.pods, func(p *podEntry) bool { return p.node != n })
	n.info = newNodeInfo(n.node, len(n.pods))
	for _, p := range n.pods {
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
