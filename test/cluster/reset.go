package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"

	"golang.org/x/sync/errgroup"
)

// Reset empties the cluster between two cases and waits until everything is gone:
// workloads, pods, disruption budgets, ConfigMaps, Leases and Events outside the system
// namespaces, all nodes, and all other namespaces except those in keep. It leaves RBAC
// objects and priority classes, which do not affect other cases.
func (c *Cluster) Reset(ctx context.Context, keep ...string) error {
	namespaces, err := c.userNamespaces(ctx)
	if err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, namespace := range namespaces {
		group.Go(func() error { return c.emptyNamespace(groupCtx, namespace) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := c.removeNodes(ctx); err != nil {
		return err
	}
	keep = append(keep, metav1.NamespaceDefault)
	for _, namespace := range namespaces {
		if slices.Contains(keep, namespace) {
			continue
		}
		err := c.client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting namespace %q: %w", namespace, err)
		}
	}
	return c.waitEmpty(ctx, keep)
}

func (c *Cluster) userNamespaces(ctx context.Context) ([]string, error) {
	list, err := c.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	var names []string
	for _, namespace := range list.Items {
		if !strings.HasPrefix(namespace.Name, "kube-") {
			names = append(names, namespace.Name)
		}
	}
	return names, nil
}

// emptyNamespace deletes owners before pods, so that no pod is replaced, and pods without
// a grace period.
func (c *Cluster) emptyNamespace(ctx context.Context, namespace string) error {
	var (
		core, apps, batch = c.client.CoreV1(), c.client.AppsV1(), c.client.BatchV1()
		all               = metav1.ListOptions{}
		background        = metav1.DeletePropagationBackground
		owners            = metav1.DeleteOptions{PropagationPolicy: &background}
		now               = metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
		notRootCA         = metav1.ListOptions{FieldSelector: fields.OneTermNotEqualSelector("metadata.name", "kube-root-ca.crt").String()}
	)
	steps := []struct {
		kind   string
		delete func() error
	}{
		{"cron jobs", func() error { return batch.CronJobs(namespace).DeleteCollection(ctx, owners, all) }},
		{"jobs", func() error { return batch.Jobs(namespace).DeleteCollection(ctx, owners, all) }},
		{"deployments", func() error { return apps.Deployments(namespace).DeleteCollection(ctx, owners, all) }},
		{"stateful sets", func() error { return apps.StatefulSets(namespace).DeleteCollection(ctx, owners, all) }},
		{"daemon sets", func() error { return apps.DaemonSets(namespace).DeleteCollection(ctx, owners, all) }},
		{"replica sets", func() error { return apps.ReplicaSets(namespace).DeleteCollection(ctx, owners, all) }},
		{"disruption budgets", func() error {
			return c.client.PolicyV1().PodDisruptionBudgets(namespace).DeleteCollection(ctx, now, all)
		}},
		{"pods", func() error { return core.Pods(namespace).DeleteCollection(ctx, now, all) }},
		{"config maps", func() error { return core.ConfigMaps(namespace).DeleteCollection(ctx, now, notRootCA) }},
		{"leases", func() error { return c.client.CoordinationV1().Leases(namespace).DeleteCollection(ctx, now, all) }},
		{"events", func() error { return core.Events(namespace).DeleteCollection(ctx, now, all) }},
	}
	for _, step := range steps {
		if err := step.delete(); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting %s of namespace %q: %w", step.kind, namespace, err)
		}
	}
	return nil
}

func (c *Cluster) removeNodes(ctx context.Context) error {
	err := c.client.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("deleting nodes: %w", err)
	}
	return c.removeNodeLeases(ctx)
}

func (c *Cluster) removeNodeLeases(ctx context.Context) error {
	leases := c.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	if err := leases.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("deleting the leases of nodes: %w", err)
	}
	return nil
}

func (c *Cluster) waitEmpty(ctx context.Context, keep []string) error {
	last := ""
	err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		var err error
		last, err = c.leftover(ctx, keep)
		return err == nil && last == "", nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the cluster to be empty (left: %s): %w", last, err)
	}
	return nil
}

// leftover names something that Reset should have removed; empty if there is nothing. It
// also deletes pods that their owners have created in the meantime.
func (c *Cluster) leftover(ctx context.Context, keep []string) (string, error) {
	pods, err := c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, pod := range pods.Items {
		_ = c.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	}
	if len(pods.Items) > 0 {
		return fmt.Sprintf("%d pods", len(pods.Items)), nil
	}
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	if len(nodes.Items) > 0 {
		return fmt.Sprintf("%d nodes", len(nodes.Items)), nil
	}
	owners, err := c.client.AppsV1().ReplicaSets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	if len(owners.Items) > 0 {
		return fmt.Sprintf("%d replica sets", len(owners.Items)), nil
	}
	namespaces, err := c.userNamespaces(ctx)
	if err != nil {
		return "", err
	}
	for _, namespace := range namespaces {
		if !slices.Contains(keep, namespace) {
			return "namespace " + namespace, nil
		}
	}
	return "", nil
}
