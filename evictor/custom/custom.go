// Package custom watches controllers of custom resources, namely those that a
// policy lists because they recreate their pods.
package custom

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/evenkeel/evenkeel/cluster/slim"
)

// Controllers holds the watched custom resources. A custom resource that cannot be read
// does not keep the process from starting.
type Controllers struct {
	discovery discovery.DiscoveryInterface
	factory   dynamicinformer.DynamicSharedInformerFactory

	mu      sync.Mutex
	kinds   map[schema.GroupKind]*kind
	handler cache.ResourceEventHandlerFuncs
	stop    <-chan struct{} // nil before Start
}

type kind struct {
	informer cache.SharedIndexInformer
	// failed reports whether listing or watching the kind has failed at least once.
	failed atomic.Bool
}

// New returns Controllers that watch nothing yet.
func New(client dynamic.Interface, api discovery.DiscoveryInterface) *Controllers {
	return &Controllers{discovery: api, factory: dynamicinformer.NewDynamicSharedInformerFactory(client, 0), kinds: map[schema.GroupKind]*kind{}}
}

// Follow registers a handler for controllers that change or are deleted from now on.
func (c *Controllers) Follow(handler cache.ResourceEventHandlerFuncs) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handler = handler
}

func (c *Controllers) followed() cache.ResourceEventHandlerFuncs {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.handler
}

// Request watches a kind once Start has been called. A kind that the API server
// does not serve has no objects and is ignored; it may be requested again
// later.
func (c *Controllers) Request(of schema.GroupKind) error {
	if c.kind(of) != nil {
		return nil
	}
	resource, served, err := Resource(c.discovery, of)
	if err != nil || !served {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kinds[of] != nil {
		return nil
	}
	k := &kind{informer: c.factory.ForResource(resource).Informer()}
	if err := k.informer.SetTransform(reduce); err != nil {
		return fmt.Errorf("watching %s: %w", of, err)
	}
	dispatch := cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) { c.followed().OnUpdate(before, after) },
		DeleteFunc: func(object any) { c.followed().OnDelete(object) },
	}
	if _, err := k.informer.AddEventHandler(dispatch); err != nil {
		return fmt.Errorf("watching %s: %w", of, err)
	}
	note := func(ctx context.Context, r *cache.Reflector, err error) {
		k.failed.Store(true)
		cache.DefaultWatchErrorHandler(ctx, r, err)
	}
	if err := k.informer.SetWatchErrorHandlerWithContext(note); err != nil {
		return fmt.Errorf("watching %s: %w", of, err)
	}
	c.kinds[of] = k
	if c.stop != nil {
		c.factory.Start(c.stop)
	}
	return nil
}

func (c *Controllers) kind(of schema.GroupKind) *kind {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kinds[of]
}

// Resource returns the resource of a kind in its group's preferred version, and whether
// the API server serves it.
func Resource(api discovery.DiscoveryInterface, of schema.GroupKind) (resource schema.GroupVersionResource, served bool, err error) {
	groups, err := api.ServerGroups()
	if err != nil {
		return resource, false, fmt.Errorf("asking the API server for its groups: %w", err)
	}
	for i := range groups.Groups {
		group := &groups.Groups[i]
		if group.Name != of.Group {
			continue
		}
		versions := append([]metav1.GroupVersionForDiscovery{group.PreferredVersion}, group.Versions...)
		for _, version := range versions { // a kind may exist in only some versions
			list, err := api.ServerResourcesForGroupVersion(version.GroupVersion)
			if err != nil {
				return resource, false, fmt.Errorf("asking the API server for %s: %w", version.GroupVersion, err)
			}
			for _, r := range list.APIResources {
				if r.Kind == of.Kind && !strings.Contains(r.Name, "/") {
					return schema.GroupVersionResource{Group: of.Group, Version: version.Version, Resource: r.Name}, true, nil
				}
			}
		}
	}
	return resource, false, nil
}

// Start watches the kinds that have been requested, or are requested later, until the
// context ends.
func (c *Controllers) Start(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop = ctx.Done()
	c.factory.Start(c.stop)
}

// Settled reports whether each kind has been listed or cannot be listed.
func (c *Controllers) Settled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.kinds {
		if !k.informer.HasSynced() && !k.failed.Load() {
			return false
		}
	}
	return true
}

// Get returns a controller; nil if there is none with that name. watched is false for a
// kind that was not requested or is not served. listed is false for a kind that could not
// be listed yet.
func (c *Controllers) Get(of schema.GroupKind, namespace, name string) (object *unstructured.Unstructured, watched, listed bool) {
	k := c.kind(of)
	if k == nil {
		return nil, false, false
	}
	if !k.informer.HasSynced() {
		return nil, true, false
	}
	stored, exists, err := k.informer.GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return nil, true, true
	}
	object, _ = stored.(*unstructured.Unstructured)
	return object, true, true
}

// kept lists the fields that are stored in addition to the metadata.
var kept = [][]string{
	{"spec", "replicas"}, {"spec", "minReadySeconds"}, {"spec", "podManagementPolicy"}, {"spec", "ordinals"}, {"spec", "reserveOrdinals"},
	{"spec", "paused"}, {"spec", "updateStrategy", "type"}, {"spec", "updateStrategy", "paused"}, {"spec", "updateStrategy", "rollingUpdate", "paused"},
	{"spec", "updateStrategy", "rollingUpdate", "minReadySeconds"}, {"spec", "updateStrategy", "rollingUpdate", "partition"},
	{"spec", "template", "spec", "nodeName"}, {"spec", "template", "spec", "schedulingGates"},
	{"spec", "template", "metadata", "annotations", "evenkeel.io/steered"},
	{"status", "replicas"}, {"status", "observedGeneration"}, {"status", "currentRevision"}, {"status", "updateRevision"},
	{"status", "updatedReplicas"}, {"status", "expectedUpdatedReplicas"},
}

// reduce is a cache.TransformFunc that keeps only the fields that are used.
func reduce(object any) (any, error) {
	whole, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	whole.SetManagedFields(slim.Specified(whole.GetManagedFields()))
	annotations := whole.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { return !strings.HasPrefix(key, "evenkeel.io/") })
	whole.SetAnnotations(annotations)
	whole.SetLabels(nil)
	small := map[string]any{"apiVersion": whole.GetAPIVersion(), "kind": whole.GetKind(), "metadata": whole.Object["metadata"]}
	for _, path := range kept {
		value, found, err := unstructured.NestedFieldNoCopy(whole.Object, path...)
		if err != nil || !found {
			continue
		}
		if err := unstructured.SetNestedField(small, value, path...); err != nil {
			return nil, fmt.Errorf("keeping %s: %w", strings.Join(path, "."), err)
		}
	}
	return &unstructured.Unstructured{Object: small}, nil
}
