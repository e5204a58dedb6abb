// Package slim decides what is kept of the objects that shared informers store:
// what a filter of kube-scheduler, a plugin of the descheduler or Evenkeel
// itself reads, and nothing else; and it lets the pods of one template hold
// what they have in common once. It leaves alone what the fields mean.
//
// What is kept of a pod, and why, is listed in pod.go. Of its owner nothing is
// read but how many replicas it wants and has, what it belongs to and what its
// controller notes in annotations. Objects of informers are read and never
// written to, so sharing parts of them changes nothing for whoever reads them.
package slim

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
)

// Slimmer makes objects small before they are stored. It is safe for concurrent
// use.
type Slimmer struct {
	words     pool
	templates templates
	// timeless leaves out since when the conditions of a pod are as they are.
	timeless bool
}

// New returns a Slimmer.
func New() *Slimmer { return &Slimmer{} }

// WithoutTransitions lets a Slimmer that has not been used yet leave out since
// when the conditions of a pod are as they are. They are then the same in
// nearly all pods of a template, and a tenth of what a pod takes. One plugin of
// the descheduler can be told to go by these times.
func (s *Slimmer) WithoutTransitions() *Slimmer {
	s.timeless = true
	return s
}

// Transform is a cache.TransformFunc: it changes the object, which nobody else
// has seen yet, and returns it.
func (s *Slimmer) Transform(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
		delete(accessor.GetAnnotations(), v1.LastAppliedConfigAnnotation)
	}
	switch o := object.(type) {
	case *v1.Pod:
		strip(o, &s.words, s.timeless)
		o.Spec.NodeName = one(&s.words, o.Spec.NodeName)
		s.templates.share(o)
	case *v1.Node:
		o.Status.Images = nil
	case *appsv1.ReplicaSet:
		o.Labels, o.Spec.Selector, o.Spec.Template = nil, nil, v1.PodTemplateSpec{}
	case *appsv1.StatefulSet:
		o.Labels, o.Spec.Selector, o.Spec.Template = nil, nil, v1.PodTemplateSpec{}
		o.Spec.VolumeClaimTemplates = nil
	}
	return object, nil
}
