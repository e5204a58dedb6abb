package placement

import (
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Objects returns nodes and pods as they are now, for example from informers.
type Objects interface {
	Nodes() []*v1.Node
	Pods() []*v1.Pod
	// Node and Pod return nil if there is no such object.
	Node(name string) *v1.Node
	Pod(namespace, name string) *v1.Pod
}

// maxChanges is the number of reported changes at which listing everything is no more
// expensive. It also bounds the memory of a process that opens no sessions.
const maxChanges = 10_000

// Follower opens sessions on the current nodes and pods. Changes are reported to
// it, so that a session costs what has changed since the last one, not the
// whole cluster. Its methods may be called concurrently.
type Follower struct {
	filters *Filters
	objects Objects

	mu sync.Mutex
	// complete is true if nodes and pods contain every change since the
	// snapshot was last brought up to date.
	complete bool
	nodes    []string
	pods     []podKey
}

type podKey struct {
	namespace, name string
	uid             types.UID // as of keyOf
}

// Follow returns a Follower of the objects.
func (f *Filters) Follow(objects Objects) *Follower { return &Follower{filters: f, objects: objects} }

// NodeChanged reports that a node was added, changed or deleted.
func (f *Follower) NodeChanged(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts() {
		f.nodes = append(f.nodes, name)
	}
}

// PodChanged reports that a pod was added, changed or deleted.
func (f *Follower) PodChanged(pod *v1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts() {
		f.pods = append(f.pods, podKey{pod.Namespace, pod.Name, keyOf(pod)})
	}
}

// counts reports whether one more change should be recorded.
func (f *Follower) counts() bool {
	if f.complete && len(f.nodes)+len(f.pods) >= maxChanges {
		f.forget()
	}
	return f.complete
}

// forget makes the next session list everything.
func (f *Follower) forget() { f.complete, f.nodes, f.pods = false, nil, nil }

// Begin opens a session on the objects as they are now, except for changes that
// have not been reported yet. It waits for the previous session to be closed.
func (f *Follower) Begin() (*Session, error) {
	f.filters.mu.Lock() // until the session is closed
	if err := f.update(); err != nil {
		f.filters.mu.Unlock()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.forget()
		return nil, fmt.Errorf("bringing the filters up to date: %w", err)
	}
	return f.filters.begin(), nil
}

// update brings the snapshot up to date. It reads the objects, because they may
// be newer than the reported changes.
func (f *Follower) update() error {
	snap := f.filters.snapshot
	complete, names, keys := f.take()
	var nodes []*v1.Node
	for _, name := range names {
		node := f.objects.Node(name)
		if known := snap.nodes[name] != nil; known != (node != nil) {
			complete = false // a node has come or gone
		} else if known {
			nodes = append(nodes, node)
		}
	}
	if !complete {
		return snap.sync(f.objects.Nodes(), f.objects.Pods())
	}
	var changed []*v1.Pod
	var gone []types.UID
	for _, key := range keys {
		pod := f.objects.Pod(key.namespace, key.name)
		if pod != nil {
			changed = append(changed, pod)
		}
		if pod == nil || keyOf(pod) != key.uid {
			gone = append(gone, key.uid)
		}
	}
	return snap.update(nodes, changed, gone)
}

// take returns the recorded changes and whether they are complete. Later changes
// are recorded anew.
func (f *Follower) take() (complete bool, nodes []string, pods []podKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	complete, nodes, pods = f.complete, f.nodes, f.pods
	f.complete, f.nodes, f.pods = true, nil, nil
	return complete, nodes, pods
}
