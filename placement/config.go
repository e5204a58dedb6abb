package placement

import (
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

// Config holds what the filters need in addition to nodes and pods.
type Config struct {
	// Client is passed to the plugins. No filter calls it; it may be nil.
	Client kubernetes.Interface

	// Informers provides listers for namespaces, claims, volumes and storage objects. New
	// requests every informer that the plugins need, so start the factory after New and sync
	// it before the first Session. If nil, the listers stay empty and pods with claims are
	// refused.
	Informers informers.SharedInformerFactory

	// DynamicResources is true if the cluster serves resource.k8s.io/v1. Otherwise the
	// DynamicResources plugin is disabled and pods with resource claims are refused.
	DynamicResources bool

	// DeclaredFeatures is true if kube-scheduler refuses nodes that do not
	// declare the features that a pod needs, as it does from Kubernetes 1.36.
	DeclaredFeatures bool
}
