package placement

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/evenkeel/evenkeel/cluster"
)

// snapshot holds the nodes and their pods, indexed for the lens.
type snapshot struct {
	generation uint64
	nodes      map[string]*nodeEntry
	views      []fwk.NodeInfo // views of all nodes
	domains    domains
	pods       map[types.UID]*podEntry
	// byObject finds unchanged pods in a new list without reading them. In a large cluster
	// nearly all pods are unchanged, and reading one would miss the CPU cache.
	byObject map[*v1.Pod]*podEntry
	index    *podIndex
	// nominated holds the pods that are not bound yet.
	nominated map[*podEntry]struct{}
	claims    map[string][]*podEntry // by "namespace/name" of the claim
	// softTainted is the number of nodes with soft taints.
	softTainted int
	dirty       []*nodeEntry // nodes to rebuild
	updated     int          // pods updated since groups were last compacted
	lens        *lens
}

func newSnapshot() *snapshot {
	return &snapshot{
		nodes:     make(map[string]*nodeEntry),
		pods:      make(map[types.UID]*podEntry),
		byObject:  make(map[*v1.Pod]*podEntry),
		index:     newPodIndex(),
		nominated: make(map[*podEntry]struct{}),
		claims:    make(map[string][]*podEntry),
		lens:      &lens{},
	}
}

// errSkipped reports objects that the snapshot cannot hold.
var errSkipped = errors.New("nil or unnamed object")

func (s *snapshot) sync(nodes []*v1.Node, pods []*v1.Pod) error {
	s.generation++
	badNodes := s.syncNodes(nodes)
	badPods := s.syncPods(pods)
	s.rebuild()
	s.index, s.updated = s.index.compacted(), 0
	if badNodes+badPods > 0 {
		return fmt.Errorf("synchronising snapshot: left out %d nodes and %d pods: %w", badNodes, badPods, errSkipped)
	}
	return nil
}

// update changes single nodes and pods to what sync would make of them, without
// lists of the others. The nodes are newer versions of known ones. gone holds
// the keys of the pods that sync would find missing.
func (s *snapshot) update(nodes []*v1.Node, changed []*v1.Pod, gone []types.UID) error {
	for _, node := range nodes {
		s.updateNode(s.nodes[node.Name], node)
	}
	bad := 0
	for _, pod := range changed {
		if unnamed(pod) {
			bad++
			continue
		}
		key := keyOf(pod)
		if p := s.pods[key]; p != nil {
			p.generation-- // not yet listed by a Sync
		}
		s.syncPod(pod)
		if p := s.pods[key]; p != nil && p.generation != s.generation {
			s.drop(key, p)
		}
	}
	for _, key := range gone {
		if p := s.pods[key]; p != nil {
			s.drop(key, p)
		}
	}
	s.rebuild()
	if s.updated += len(changed) + len(gone); s.updated > len(s.pods) {
		s.index, s.updated = s.index.compacted(), 0
	}
	if bad > 0 {
		return fmt.Errorf("updating snapshot: left out %d pods: %w", bad, errSkipped)
	}
	return nil
}

func unnamed(pod *v1.Pod) bool { return pod == nil || (pod.UID == "" && pod.Name == "") }

func (s *snapshot) drop(key types.UID, p *podEntry) {
	s.detach(p)
	delete(s.pods, key)
}

// change marks a node as changed.
func (s *snapshot) change(n *nodeEntry) {
	if !n.dirty {
		n.dirty, s.dirty = true, append(s.dirty, n)
	}
}

// rebuild rebuilds the nodes that have changed.
func (s *snapshot) rebuild() {
	for _, n := range s.dirty {
		n.rebuild()
	}
	clear(s.dirty)
	s.dirty = s.dirty[:0]
}

// syncNodes updates the nodes and returns how many it had to skip.
func (s *snapshot) syncNodes(nodes []*v1.Node) (bad int) {
	s.views, s.domains, s.softTainted = s.views[:0], domains{}, 0
	for _, node := range nodes {
		if node == nil || node.Name == "" {
			bad++
			continue
		}
		n := s.nodes[node.Name]
		switch {
		case n == nil:
			n = &nodeEntry{node: node}
			n.view = &nodeView{lens: s.lens}
			s.change(n)
			s.nodes[node.Name] = n
		case n.generation == s.generation:
			continue // listed twice
		case !sameNode(n.node, node):
			n.node = node
			s.change(n)
		}
		n.generation = s.generation
		n.platform = cluster.PlatformOf(n.node.Labels)
		s.views = append(s.views, n.view)
		s.softTainted += softTaints(n.node)
	}
	for name, n := range s.nodes {
		if n.generation != s.generation {
			delete(s.nodes, name)
		}
	}
	return bad
}

// updateNode replaces an older copy of a node.
func (s *snapshot) updateNode(n *nodeEntry, node *v1.Node) {
	if sameNode(n.node, node) {
		return
	}
	if !maps.Equal(n.node.Labels, node.Labels) {
		s.domains, n.platform = domains{}, cluster.PlatformOf(node.Labels)
	}
	s.softTainted += softTaints(node) - softTaints(n.node)
	n.node = node
	s.change(n)
}

// softTaints returns 1 for a node with soft taints, and 0 for any other.
func softTaints(node *v1.Node) int {
	if softTainted(node) {
		return 1
	}
	return 0
}

// softTainted reports whether a node has a soft taint, which pods avoid if they
// can.
func softTainted(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint v1.Taint) bool { return taint.Effect == v1.TaintEffectPreferNoSchedule })
}

func sameNode(a, b *v1.Node) bool {
	return a == b || (a.ResourceVersion != "" && a.ResourceVersion == b.ResourceVersion && a.UID == b.UID)
}

// syncPods updates the pods and returns how many it had to skip.
func (s *snapshot) syncPods(pods []*v1.Pod) (bad int) {
	listed := 0
	for _, pod := range pods {
		if p := s.byObject[pod]; p != nil && p.node.generation == s.generation {
			if p.generation != s.generation {
				p.generation = s.generation
				listed++
			}
			continue
		}
		if unnamed(pod) {
			bad++
			continue
		}
		if s.syncPod(pod) {
			listed++
		}
	}
	if listed == len(s.pods) {
		return bad
	}
	for key, p := range s.pods {
		if p.generation != s.generation {
			s.drop(key, p)
		}
	}
	return bad
}

// syncPod updates a pod. It reports whether the pod is now in the snapshot and was not
// listed before.
func (s *snapshot) syncPod(pod *v1.Pod) bool {
	if pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
		return false
	}
	n := s.nodes[nodeOf(pod)]
	if n == nil {
		return false
	}
	key := keyOf(pod)
	p := s.pods[key]
	switch {
	case p == nil:
		p = s.attach(pod, n)
		s.pods[key] = p
	case p.generation == s.generation:
		return false // listed twice
	case p.node != n || !samePod(p.pod, pod) && !p.countsAlike(pod):
		s.detach(p)
		p = s.attach(pod, n)
		s.pods[key] = p
	default:
		s.renew(p, pod)
	}
	p.generation = s.generation
	return true
}

// nodeOf returns the node that a pod is bound to or, if kube-scheduler reserves space for
// the pod, the node for which it is nominated; empty if there is neither.
func nodeOf(pod *v1.Pod) string {
	if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
		return pod.Status.NominatedNodeName
	}
	return pod.Spec.NodeName
}

func samePod(a, b *v1.Pod) bool {
	return a == b || (a.ResourceVersion != "" && a.ResourceVersion == b.ResourceVersion)
}

// keyOf returns the pod's UID or, if it has none, its name.
func keyOf(pod *v1.Pod) types.UID {
	if pod.UID != "" {
		return pod.UID
	}
	return types.UID(pod.Namespace + "/" + pod.Name)
}

func (s *snapshot) attach(pod *v1.Pod, n *nodeEntry) *podEntry {
	g := s.index.groupOf(pod)
	p := newEntry(pod, n, g.shareRequests(pod))
	s.count(p, g)
	s.byObject[pod] = p
	s.nominate(p)
	n.pods = append(n.pods, p)
	s.change(n)
	return p
}

func (s *snapshot) detach(p *podEntry) {
	s.discount(p)
	delete(s.byObject, p.pod)
	delete(s.nominated, p)
	s.change(p.node)
	p.node = nil
}

// renew replaces an older version of a pod.
func (s *snapshot) renew(p *podEntry, pod *v1.Pod) {
	delete(s.byObject, p.pod)
	p.pod, p.deleted = pod, pod.DeletionTimestamp != nil
	s.byObject[pod] = p
	s.nominate(p)
}

func (s *snapshot) nominate(p *podEntry) {
	if delete(s.nominated, p); p.pod.Spec.NodeName == "" {
		s.nominated[p] = struct{}{}
	}
}

// count adds a pod to the indexes; discount removes it.
func (s *snapshot) count(p *podEntry, g *group) {
	g.add(p)
	for key := range claimKeys(p.pod) {
		s.claims[key] = append(s.claims[key], p)
	}
}

func (s *snapshot) discount(p *podEntry) {
	p.group.remove(p)
	for key := range claimKeys(p.pod) {
		s.claims[key] = slices.DeleteFunc(s.claims[key], func(user *podEntry) bool { return user == p })
		if len(s.claims[key]) == 0 {
			delete(s.claims, key)
		}
	}
}

// domains holds, for a list of topology keys, one node of each combination of their
// values. PodTopologySpread counts pods by domain and reads nodes without a matching pod
// only to find out which domains exist. One node of each domain is enough for that.
type domains map[string][]*nodeEntry
