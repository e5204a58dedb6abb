// Package informed builds cluster values from the API server's objects.
//
// A Store is fed with Node and Pod objects by its own reflectors (in the extender, which
// needs only the records) or by the event handlers of shared informers (in the runner,
// whose plugins need whole objects anyway), and keeps only records.
package informed

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/evenkeel/evenkeel/cluster"
)

// Change describes a change to one pod. Exactly one field is set.
type Change struct {
	// Created is a pod that exists and is not bound yet. It may be reported
	// repeatedly.
	Created *cluster.Pod
	// Added is a pod that is now bound to a node.
	Added *cluster.Pod
	// Leaving is a bound pod that has begun to terminate.
	Leaving *cluster.Pod
	// Removed is a pod that was bound and is gone or has ended.
	Removed *cluster.Pod
	// Dropped is a pod that is gone and was never bound.
	Dropped *cluster.Pod
}

// Store holds the records of a cluster. It is safe for concurrent use.
type Store struct {
	mu     sync.Mutex
	taints cluster.TaintRule
	nodes  map[string]*cluster.Node
	// byNode holds each node's pods in the order of their keys. A slice that a
	// Snapshot shares is replaced, never changed. inSnapshot marks the nodes of
	// such slices, even after the node itself is gone.
	byNode     map[string][]*cluster.Pod
	inSnapshot map[string]bool
	byKey      map[podKey]*cluster.Pod
	// unbound holds the pods that were reported as Created, until they are
	// bound or gone.
	unbound map[podKey]*cluster.Pod
	shared  shared // strings shared by records
	// built caches each node's part of a Snapshot until the node changes.
	built    map[string]*cluster.NodePods
	onChange func(Change)

	// listedNodes and listedPods are true once the first list has arrived.
	listedNodes, listedPods atomic.Bool
}

// NewStore returns an empty Store. onChange may be nil. It is called for every Change
// while the Store is locked, so it must not call the Store.
func NewStore(onChange func(Change)) *Store {
	return &Store{
		nodes:      map[string]*cluster.Node{},
		byNode:     map[string][]*cluster.Pod{},
		inSnapshot: map[string]bool{},
		byKey:      map[podKey]*cluster.Pod{},
		unbound:    map[podKey]*cluster.Pod{},
		built:      map[string]*cluster.NodePods{},
		onChange:   onChange,
	}
}

type podKey struct{ namespace, name string }

func keyOf(pod *cluster.Pod) podKey { return podKey{pod.Namespace, pod.Name} }

// SetNode adds or changes a node.
func (s *Store) SetNode(object *v1.Node) {
	node := Node(object)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setNode(node)
}

// SetTaints sets the meaning of taints and applies it to known nodes.
func (s *Store) SetTaints(rule cluster.TaintRule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taints = rule
	for _, node := range s.nodes {
		s.setNode(*node)
	}
}

func (s *Store) setNode(node cluster.Node) {
	s.taints.Apply(&node)
	if old := s.nodes[node.Name]; old != nil && old.Equal(&node) {
		return
	}
	s.nodes[node.Name] = &node
	delete(s.built, node.Name)
}

// DeleteNode deletes a node. Its pods stay until they are deleted themselves.
func (s *Store) DeleteNode(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.nodes, name)
	delete(s.built, name)
}

// Closed returns Node.Closed for the node's current state, which may be newer
// than any Snapshot. A deleted node is closed.
func (s *Store) Closed(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if node := s.nodes[name]; node != nil {
		return node.Closed()
	}
	return "Gone"
}

// SetPod adds or changes a pod. A pod that has ended counts as gone. A pod that is not
// bound is reported but not included in Snapshots.
func (s *Store) SetPod(object *v1.Pod) { s.setPod(s.record(object)) }

// record returns the record of a pod, sharing equal strings with other records. The
// record of a pod that has ended is reduced to its name.
func (s *Store) record(object *v1.Pod) *cluster.Pod {
	if podutil.IsPodTerminal(object) {
		return &cluster.Pod{Namespace: object.Namespace, Name: object.Name}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	pod := record(object, s.shared.sizeOf(object))
	s.shared.intern(pod)
	return pod
}

func (s *Store) setPod(pod *cluster.Pod) {
	if pod.UID == "" {
		s.DeletePod(pod.Namespace, pod.Name)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if waiting := s.unbound[keyOf(pod)]; waiting != nil && waiting.UID != pod.UID {
		s.drop(waiting)
	}
	if pod.Node == "" {
		if old := s.byKey[keyOf(pod)]; old != nil {
			s.remove(old)
		}
		s.unbound[keyOf(pod)] = pod
		s.notify(Change{Created: pod})
		return
	}
	delete(s.unbound, keyOf(pod))
	old := s.byKey[keyOf(pod)]
	if old != nil && *old == *pod {
		return
	}
	if old != nil && (old.UID != pod.UID || old.Node != pod.Node) {
		s.remove(old)
		old = nil
	}
	s.put(pod)
	switch {
	case old == nil:
		s.notify(Change{Added: pod})
	case pod.Terminating && !old.Terminating:
		s.notify(Change{Leaving: pod})
	}
}

// DeletePod deletes a pod, bound or not.
func (s *Store) DeletePod(namespace, name string) {
	key := podKey{namespace, name}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.byKey[key]; old != nil {
		s.remove(old)
	}
	if waiting := s.unbound[key]; waiting != nil {
		s.drop(waiting)
	}
}

// drop deletes a pod that was never bound.
func (s *Store) drop(pod *cluster.Pod) {
	delete(s.unbound, keyOf(pod))
	s.notify(Change{Dropped: pod})
}

// retainPods deletes every pod whose key is not in keep.
func (s *Store) retainPods(keep map[podKey]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, pod := range s.byKey {
		if !keep[key] {
			s.remove(pod)
		}
	}
	for key, pod := range s.unbound {
		if !keep[key] {
			s.drop(pod)
		}
	}
}

func (s *Store) retainNodes(keep map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.nodes {
		if !keep[name] {
			delete(s.nodes, name)
			delete(s.built, name)
		}
	}
}

func (s *Store) put(pod *cluster.Pod) {
	pods := s.writable(pod.Node)
	i, found := slices.BinarySearchFunc(pods, pod, byKey)
	if found {
		pods[i] = pod
	} else {
		pods = slices.Insert(pods, i, pod)
	}
	s.byNode[pod.Node] = pods
	s.byKey[keyOf(pod)] = pod
}

func (s *Store) remove(pod *cluster.Pod) {
	pods := s.writable(pod.Node)
	if i, found := slices.BinarySearchFunc(pods, pod, byKey); found {
		pods = slices.Delete(pods, i, i+1)
	}
	if s.byNode[pod.Node] = pods; len(pods) == 0 {
		delete(s.byNode, pod.Node)
	}
	delete(s.byKey, keyOf(pod))
	s.notify(Change{Removed: pod})
}

// writable returns the node's pods as a slice that no Snapshot shares.
func (s *Store) writable(node string) []*cluster.Pod {
	pods := s.byNode[node]
	if s.inSnapshot[node] {
		pods = slices.Clone(pods)
		delete(s.inSnapshot, node)
	}
	delete(s.built, node)
	return pods
}

func (s *Store) notify(change Change) {
	if s.onChange != nil {
		s.onChange(change)
	}
}

// byKey orders pods by namespace, then name.
func byKey(a, b *cluster.Pod) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

// Observe calls use with a Snapshot while no changes are made, so that onChange reports
// exactly the changes after that Snapshot. Nodes that have not changed since the last
// Snapshot cost only a pointer.
func (s *Store) Observe(use func(*cluster.Snapshot)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := slices.Sorted(maps.Keys(s.nodes))
	snapshot := &cluster.Snapshot{Nodes: make([]*cluster.NodePods, len(names))}
	for i, name := range names {
		built := s.built[name]
		if built == nil {
			built = &cluster.NodePods{Node: *s.nodes[name], Pods: s.byNode[name]}
			s.built[name] = built
			if len(built.Pods) > 0 {
				s.inSnapshot[name] = true
			}
		}
		snapshot.Nodes[i] = built
	}
	use(snapshot)
}
