// Package slim reduces the objects in shared informers to what a kube-scheduler filter, a
// descheduler plugin or Evenkeel itself reads. It does not interpret fields.
//
// Pods are reduced in their encoding: fields.go lists what is dropped, and pod.go decodes
// the rest, so that pods share what they have in common. These parts of a pod's owner are
// kept: the desired and actual replicas, its own owner, its annotations, the time of the
// last change to its spec, and the template fields that concern steering. Objects of
// informers are never written to, so readers do not notice that parts are shared.
package slim

import (
	"bytes"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Slimmer shrinks objects before they are stored. It is safe for concurrent
// use.
type Slimmer struct{ pods pods }

// New returns a Slimmer.
func New() *Slimmer { return &Slimmer{} }

// WithoutTransitions makes an unused Slimmer drop the transition times of a pod's
// conditions. The conditions are then equal in nearly all pods of a template; they take a
// tenth of a pod's memory. One descheduler plugin can use these times.
func (s *Slimmer) WithoutTransitions() *Slimmer {
	s.pods.timeless = true
	return s
}

// Transform is a cache.TransformFunc. It changes the object in place and returns it;
// nothing else has seen the object yet.
func (s *Slimmer) Transform(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		var fields []metav1.ManagedFieldsEntry
		switch object.(type) {
		case *appsv1.ReplicaSet, *appsv1.StatefulSet, *v1.ReplicationController:
			fields = Specified(accessor.GetManagedFields())
		}
		accessor.SetManagedFields(fields)
		delete(accessor.GetAnnotations(), v1.LastAppliedConfigAnnotation)
	}
	switch o := object.(type) {
	case *v1.Pod:
		return o, s.transform(o)
	case *v1.PodList:
		for i := range o.Items {
			if err := s.transform(&o.Items[i]); err != nil {
				return nil, err
			}
		}
	case *v1.Node:
		o.Status.Images = nil
	case *appsv1.ReplicaSet:
		o.Labels, o.Spec.Selector, o.Spec.Template = nil, nil, steering(&o.Spec.Template)
	case *v1.ReplicationController:
		o.Labels, o.Spec.Selector = nil, nil
		if o.Spec.Template != nil {
			o.Spec.Template = new(steering(o.Spec.Template))
		}
	case *batchv1.Job:
		o.Labels, o.Spec.Selector, o.Spec.Template = nil, nil, steering(&o.Spec.Template)
	case *batchv1.CronJob:
		o.Labels, o.Spec.JobTemplate, o.Status = nil, batchv1.JobTemplateSpec{}, batchv1.CronJobStatus{}
	case *appsv1.StatefulSet:
		o.Labels, o.Spec.Selector, o.Spec.Template = nil, nil, steering(&o.Spec.Template)
		o.Spec.VolumeClaimTemplates = nil
	}
	return object, nil
}

// transform reduces a decoded pod. The encoding is the only place that determines what is
// kept.
func (s *Slimmer) transform(pod *v1.Pod) error {
	raw, err := pod.Marshal()
	if err != nil {
		return fmt.Errorf("encoding a pod: %w", err)
	}
	slim := v1.Pod{TypeMeta: pod.TypeMeta}
	if err := s.pods.decode(raw, &slim); err != nil {
		return err
	}
	*pod = slim
	return nil
}

// steering keeps the parts of an owner's template that determine whether its pods can be
// steered.
func steering(template *v1.PodTemplateSpec) (kept v1.PodTemplateSpec) {
	const steered = "evenkeel.io/steered"
	if value, ok := template.Annotations[steered]; ok {
		kept.Annotations = map[string]string{steered: value}
	}
	kept.Spec.NodeName, kept.Spec.SchedulingGates = template.Spec.NodeName, template.Spec.SchedulingGates
	return kept
}

// Specified reduces an owner's managed fields to the time at which its spec was last
// changed, for example by scaling, a rollout or a rollback. No other field contains that
// time.
func Specified(fields []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var newest *metav1.Time
	for i := range fields {
		entry := &fields[i]
		of := entry.FieldsV1 == nil || bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:spec"`)) // nil if it was reduced before
		if of && entry.Subresource != "status" && entry.Time != nil && (newest == nil || newest.Before(entry.Time)) {
			newest = entry.Time
		}
	}
	if newest == nil {
		return nil
	}
	return []metav1.ManagedFieldsEntry{{Time: newest}}
}
