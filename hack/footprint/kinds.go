package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// heartbeatSeconds is the interval at which a kubelet reports an unchanged node
// status.
const heartbeatSeconds = 300

// kind is a kind of object and the path that serves it.
type kind struct {
	schema.GroupVersionKind
	count int
	make  func(i, version int) runtime.Object
	// updates is the number of objects that change per second, births the number that are
	// replaced.
	updates, births float64
	// renew replaces the object with this index by a new one.
	renew func(i int)
}

// kinds returns the served kinds by path. Kinds that evenkeel watches but that this
// cluster lacks have empty lists.
func (s *server) kinds() map[string]*kind {
	core, apps := schema.GroupVersion{Version: "v1"}, schema.GroupVersion{Group: "apps", Version: "v1"}
	kinds := map[string]*kind{
		"/api/v1/nodes": {
			GroupVersionKind: core.WithKind("Node"), count: s.nodes, updates: float64(s.nodes) / heartbeatSeconds,
			make: func(i, version int) runtime.Object { return node(i, version) },
		},
		"/api/v1/pods": {
			GroupVersionKind: core.WithKind("Pod"), count: s.pods(), updates: float64(s.updates), births: float64(s.pods()) * s.churn / 100 / 60,
			make:  func(i, version int) runtime.Object { return s.pod(i, version) },
			renew: s.bear,
		},
		"/api/v1/namespaces": {
			GroupVersionKind: core.WithKind("Namespace"), count: namespaces,
			make: func(i, version int) runtime.Object { return namespace(i, version) },
		},
		"/apis/apps/v1/replicasets": {
			GroupVersionKind: apps.WithKind("ReplicaSet"), count: s.nodes * revisions,
			make: func(i, version int) runtime.Object { return s.revision(i, version) },
		},
		"/apis/policy/v1/poddisruptionbudgets": {
			GroupVersionKind: schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}, count: s.nodes,
			make: func(i, version int) runtime.Object { return s.budget(i, version) },
		},
		"/apis/storage.k8s.io/v1/csinodes": {
			GroupVersionKind: schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "CSINode"}, count: s.nodes,
			make: func(i, version int) runtime.Object { return csiNode(i, version) },
		},
	}
	for path, gvk := range emptyKinds {
		kinds[path] = &kind{GroupVersionKind: gvk}
	}
	return kinds
}

var emptyKinds = map[string]schema.GroupVersionKind{
	"/api/v1/namespaces/kube-system/configmaps":    {Version: "v1", Kind: "ConfigMap"},
	"/api/v1/persistentvolumes":                    {Version: "v1", Kind: "PersistentVolume"},
	"/api/v1/persistentvolumeclaims":               {Version: "v1", Kind: "PersistentVolumeClaim"},
	"/apis/apps/v1/statefulsets":                   {Group: "apps", Version: "v1", Kind: "StatefulSet"},
	"/api/v1/replicationcontrollers":               {Version: "v1", Kind: "ReplicationController"},
	"/api/v1/resourcequotas":                       {Version: "v1", Kind: "ResourceQuota"},
	"/apis/scheduling.k8s.io/v1/priorityclasses":   {Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"},
	"/apis/storage.k8s.io/v1/storageclasses":       {Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"},
	"/apis/storage.k8s.io/v1/csidrivers":           {Group: "storage.k8s.io", Version: "v1", Kind: "CSIDriver"},
	"/apis/storage.k8s.io/v1/csistoragecapacities": {Group: "storage.k8s.io", Version: "v1", Kind: "CSIStorageCapacity"},
	"/apis/storage.k8s.io/v1/volumeattachments":    {Group: "storage.k8s.io", Version: "v1", Kind: "VolumeAttachment"},
	"/apis/resource.k8s.io/v1/resourceclaims":      {Group: "resource.k8s.io", Version: "v1", Kind: "ResourceClaim"},
	"/apis/resource.k8s.io/v1/resourceslices":      {Group: "resource.k8s.io", Version: "v1", Kind: "ResourceSlice"},
	"/apis/resource.k8s.io/v1/deviceclasses":       {Group: "resource.k8s.io", Version: "v1", Kind: "DeviceClass"},
}

// groups is the discovery document of the API groups.
const groups = `{"kind":"APIGroupList","apiVersion":"v1","groups":[` +
	`{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}]},{"name":"policy","versions":[{"groupVersion":"policy/v1","version":"v1"}]},` +
	`{"name":"resource.k8s.io","versions":[{"groupVersion":"resource.k8s.io/v1","version":"v1"}]}]}`

// list makes the list object for a page.
func (k *kind) list(items []runtime.Object, version, rest string) (runtime.Object, error) {
	gvk := k.GroupVersionKind
	gvk.Kind += "List"
	list, err := scheme.Scheme.New(gvk)
	if err != nil {
		return nil, fmt.Errorf("making a list: %w", err)
	}
	list.GetObjectKind().SetGroupVersionKind(gvk)
	if err := meta.SetList(list, items); err != nil {
		return nil, fmt.Errorf("making a list: %w", err)
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, fmt.Errorf("making a list: %w", err)
	}
	accessor.SetResourceVersion(version)
	accessor.SetContinue(rest)
	return list, nil
}

// bookmark makes an object without content that reports the progress of a watch.
func (k *kind) bookmark(version string, initial bool) (runtime.Object, error) {
	object, err := scheme.Scheme.New(k.GroupVersionKind)
	if err != nil {
		return nil, fmt.Errorf("making a bookmark: %w", err)
	}
	object.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, fmt.Errorf("making a bookmark: %w", err)
	}
	accessor.SetResourceVersion(version)
	if initial {
		accessor.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return object, nil
}
