package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// createPods creates a wave and waits until all its pods exist.
func (s *stage) createPods(ctx context.Context, w cluster.Workload) error {
	if err := s.Cluster.Create(ctx, w); err != nil {
		return err
	}
	return eventually(ctx, upWithin, "every pod is created", func(ctx context.Context) (bool, error) {
		d, err := s.Cluster.Client().AppsV1().Deployments(w.Namespace).Get(ctx, w.Name, metav1.GetOptions{})
		return err == nil && d.Status.Replicas == int32(w.Replicas), nil
	})
}

// removePods deletes the wave and waits until it is gone. It deletes owners first, so
// that no pod is replaced.
func (s *stage) removePods(ctx context.Context) error {
	client := s.Cluster.Client()
	orphan, now := metav1.DeletePropagationOrphan, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	owners, all := metav1.DeleteOptions{PropagationPolicy: &orphan}, metav1.ListOptions{}
	if err := client.AppsV1().Deployments(wave).DeleteCollection(ctx, owners, all); err != nil {
		return fmt.Errorf("deleting the Deployment: %w", err)
	}
	if err := eventually(ctx, upWithin, "the Deployment is gone", func(ctx context.Context) (bool, error) {
		_, err := client.AppsV1().Deployments(wave).Get(ctx, waveName, metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	}); err != nil {
		return err
	}
	background := metav1.DeletePropagationBackground
	if err := client.AppsV1().ReplicaSets(wave).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &background}, all); err != nil {
		return fmt.Errorf("deleting the ReplicaSet: %w", err)
	}
	if err := client.CoreV1().Pods(wave).DeleteCollection(ctx, now, all); err != nil {
		return fmt.Errorf("deleting the pods: %w", err)
	}
	if err := client.CoreV1().Events(wave).DeleteCollection(ctx, now, all); err != nil {
		return fmt.Errorf("deleting Events: %w", err)
	}
	return eventually(ctx, upWithin, "every pod is gone", func(ctx context.Context) (bool, error) {
		list, err := client.CoreV1().Pods(wave).List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil && len(list.Items) == 0, nil
	})
}
