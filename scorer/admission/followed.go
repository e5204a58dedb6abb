package admission

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// Followed holds the keys of all namespaces as stored in the API server, for the webhook that steers in place of the
// API server: one object per namespace, with at most maxKeys keys. It is safe for concurrent use.
type Followed struct{ steerings informers.GenericInformer }

// NewFollowed returns a Followed that knows no keys before Run.
func NewFollowed(client dynamic.Interface) *Followed {
	ours := func(options *metav1.ListOptions) { options.FieldSelector = "metadata.name=" + objectName }
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	return &Followed{dynamicinformer.NewFilteredDynamicInformer(client, resource, metav1.NamespaceAll, 0, indexers, ours)}
}

// Run follows the keys until the context ends.
func (f *Followed) Run(ctx context.Context) { f.steerings.Informer().RunWithContext(ctx) }

// Wait waits for the first list of keys. It reports whether the list came before the context ended.
func (f *Followed) Wait(ctx context.Context) bool {
	return cache.WaitForCacheSync(ctx.Done(), f.steerings.Informer().HasSynced)
}

// Of returns the nodes for a new pod, the planned one first, and whether to hold the pod.
// It returns no node if there is no key for the pod, or if the key has ended or would not
// be accepted by the API server.
func (f *Followed) Of(namespace string, pod *v1.Pod, now time.Time) (nodes []string, hold bool) {
	of, owned := idOfPod(pod)
	if !owned {
		return nil, false
	}
	object, err := f.steerings.Lister().ByNamespace(namespace).Get(objectName)
	steering, ok := object.(*unstructured.Unstructured)
	if err != nil || !ok {
		return nil, false
	}
	targets, _, _ := unstructured.NestedFieldNoCopy(steering.Object, "targets")
	keys, _ := targets.(map[string]any)
	template, _, _ := unstructured.NestedString(keys, of.name, "template")
	if !now.Before(endOf(keys, of.name)) || template != "" && !revised(pod, template) {
		return nil, false
	}
	nodes, _, _ = unstructured.NestedStringSlice(keys, of.name, "nodes")
	for _, node := range nodes { // an invalid name would make the API server reject the pod
		if len(nodes) > maxNodes || len(validation.IsDNS1123Subdomain(node)) > 0 {
			return nil, false
		}
	}
	by, _, _ := unstructured.NestedString(keys, of.name, "by")
	return nodes, by == byGate
}

// revised reports whether a pod was created from the template with this hash.
func revised(pod *v1.Pod, template string) bool {
	return pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] == template || pod.Labels[appsv1.ControllerRevisionHashLabelKey] == template
}
