package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/soak"
)

// watchPods returns when the roster contains every pod, and keeps the roster up to date
// until the context ends. It calls came for every new pod.
func (s *stage) watchPods(ctx context.Context, came func()) error {
	factory := informers.NewSharedInformerFactoryWithOptions(s.Cluster.Client(), 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Pods().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			s.saw(o)
			came()
		},
		UpdateFunc: func(_, o any) { s.saw(o) },
		DeleteFunc: s.gone,
	})
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.New("watching pods: no first list")
	}
	return nil
}

func (s *stage) saw(o any) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	landing := s.roster.Saw(podOf(pod), time.Now())
	if landing != nil && landing.Boomerang {
		s.Tell("  boomerang: %s is bound to %s, which a pod of %s was evicted from", landing.Pod.Name, landing.Node, landing.Pod.Deployment)
	}
}

func (s *stage) gone(o any) {
	if tombstone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = tombstone.Obj
	}
	if pod, ok := o.(*corev1.Pod); ok {
		s.roster.Gone(podOf(pod), time.Now())
	}
}

func podOf(pod *corev1.Pod) soak.Pod {
	return soak.Pod{
		UID: string(pod.UID), Name: pod.Name, Deployment: pod.Labels["app"], Node: pod.Spec.NodeName,
		Created: pod.CreationTimestamp.Time,
		Used: soak.Amounts{
			CPUMilli:    quantity(pod, cluster.UsageCPUAnnotation).MilliValue(),
			MemoryBytes: quantity(pod, cluster.UsageMemoryAnnotation).Value(),
		},
		Evicted: evicted(pod), Leaving: pod.DeletionTimestamp != nil,
	}
}

func quantity(pod *corev1.Pod, annotation string) *resource.Quantity {
	q, err := resource.ParseQuantity(pod.Annotations[annotation])
	if err != nil {
		return &resource.Quantity{} // impossible: every pod of the fleet has it from its template
	}
	return &q
}

// evicted reports whether the API server has accepted an eviction of the pod. The API
// server records that before it deletes the pod.
func evicted(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue && condition.Reason == "EvictionByEvictionAPI" {
			return true
		}
	}
	return false
}
