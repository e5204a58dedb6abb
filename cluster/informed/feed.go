package informed

import (
	"context"
	"fmt"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/evenkeel/evenkeel/cluster"
)

// Attach feeds the Store from shared informers. It returns a function that
// reports whether the first lists of nodes and pods have both reached the Store.
func (s *Store) Attach(factory informers.SharedInformerFactory) (synced func() bool, err error) {
	nodes, err := s.AttachNodes(factory)
	if err != nil {
		return nil, err
	}
	pods, err := attach(factory.Core().V1().Pods().Informer(), podFeed{s}, &s.listedPods)
	if err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	return func() bool { return pods() && nodes() }, nil
}

// AttachNodes feeds the Store's nodes from shared informers. Its pods must come from
// ReflectPods, or be disabled with WithoutPods. It returns a function that reports
// whether the nodes have been delivered.
func (s *Store) AttachNodes(factory informers.SharedInformerFactory) (synced func() bool, err error) {
	nodes, err := attach(factory.Core().V1().Nodes().Informer(), nodeFeed{s}, &s.listedNodes)
	if err != nil {
		return nil, fmt.Errorf("watching nodes: %w", err)
	}
	return nodes, nil
}

func attach(informer cache.SharedInformer, to cache.ReflectorStore, listed *atomic.Bool) (synced func() bool, err error) {
	registration, err := informer.AddEventHandler(handler(to))
	if err != nil {
		return nil, err
	}
	return func() bool {
		if registration.HasSynced() {
			listed.Store(true)
		}
		return listed.Load()
	}, nil
}

// WithoutPods marks the pods as delivered, because none will be.
func (s *Store) WithoutPods() { s.listedPods.Store(true) }

// Reflect feeds the Store from its own reflectors until the context ends; it keeps only
// records, not objects.
func (s *Store) Reflect(ctx context.Context, nodes, pods cache.ListerWatcher) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		cache.NewReflectorWithOptions(nodes, &v1.Node{}, nodeFeed{s}, cache.ReflectorOptions{Name: "nodes"}).RunWithContext(ctx)
	}()
	s.ReflectPods(ctx, pods)
	<-done
}

// ReflectPods feeds the Store's pods as Reflect does.
func (s *Store) ReflectPods(ctx context.Context, pods cache.ListerWatcher) {
	cache.NewReflectorWithOptions(pods, &v1.Pod{}, podFeed{s}, cache.ReflectorOptions{Name: "pods"}).RunWithContext(ctx)
}

// Synced reports whether the first lists of nodes and pods have been stored. With shared
// informers, calling the function returned by Attach makes it true.
func (s *Store) Synced() bool { return s.listedNodes.Load() && s.listedPods.Load() }

func handler(store cache.ReflectorStore) cache.ResourceEventHandlerFuncs {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { _ = store.Add(object) },
		UpdateFunc: func(_, object any) { _ = store.Update(object) },
		DeleteFunc: func(object any) {
			if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = tombstone.Obj
			}
			_ = store.Delete(object)
		},
	}
}

// nodeFeed adapts the Store as a reflector's store of nodes.
type nodeFeed struct{ store *Store }

var _ cache.TransformingStore = nodeFeed{}

func (f nodeFeed) Add(object any) error {
	node, ok := object.(*v1.Node)
	if !ok {
		return fmt.Errorf("feeding nodes: got %T", object)
	}
	f.store.SetNode(node)
	return nil
}

func (f nodeFeed) Update(object any) error { return f.Add(object) }

func (f nodeFeed) Delete(object any) error {
	node, ok := object.(*v1.Node)
	if !ok {
		return fmt.Errorf("feeding nodes: got %T", object)
	}
	f.store.DeleteNode(node.Name)
	return nil
}

func (f nodeFeed) Replace(objects []any, _ string) error {
	keep := make(map[string]bool, len(objects))
	for _, object := range objects {
		if err := f.Add(object); err != nil {
			return err
		}
		keep[object.(*v1.Node).Name] = true //nolint:forcetypeassert // Add has checked it
	}
	f.store.retainNodes(keep)
	f.store.listedNodes.Store(true)
	return nil
}

func (f nodeFeed) Resync() error { return nil }

func (f nodeFeed) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		if node, ok := object.(*v1.Node); ok {
			node.ManagedFields, node.Status.Images = nil, nil
			node.Annotations = usageAnnotations(node.Annotations)
		}
		return object, nil
	}
}

// podFeed adapts the Store as a reflector's store of pods.
type podFeed struct{ store *Store }

var _ cache.TransformingStore = podFeed{}

func (f podFeed) Add(object any) error {
	pod, err := f.recordOf(object)
	if err != nil {
		return err
	}
	f.store.setPod(pod)
	return nil
}

// recordOf returns the record of an object. The Transformer may already have converted
// it.
func (f podFeed) recordOf(object any) (*cluster.Pod, error) {
	switch pod := object.(type) {
	case *v1.Pod:
		return f.store.record(pod), nil
	case *cluster.Pod:
		return pod, nil
	}
	return nil, fmt.Errorf("feeding pods: got %T", object)
}

func (f podFeed) Update(object any) error { return f.Add(object) }

func (f podFeed) Delete(object any) error {
	pod, err := f.recordOf(object)
	if err != nil {
		return err
	}
	f.store.DeletePod(pod.Namespace, pod.Name)
	return nil
}

func (f podFeed) Replace(objects []any, _ string) error {
	keep, pods := make(map[podKey]bool, len(objects)), make([]*cluster.Pod, len(objects))
	for i, object := range objects {
		pod, err := f.recordOf(object)
		if err != nil {
			return err
		}
		pods[i], keep[keyOf(pod)] = pod, true
	}
	f.store.retainPods(keep) // first, because the deleted pods left before the new ones came
	for _, pod := range pods {
		f.store.setPod(pod)
	}
	f.store.listedPods.Store(true)
	return nil
}

func (f podFeed) Resync() error { return nil }

// Transformer makes the record before a reflector stores the object, because even a pod
// stripped to what records need is ten times as large as its record. A streamed first
// list is therefore never held in memory as a whole; a paged one is.
func (f podFeed) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		if pod, ok := object.(*v1.Pod); ok {
			return f.store.record(pod), nil
		}
		return object, nil
	}
}
