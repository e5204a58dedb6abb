package cluster

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"golang.org/x/sync/errgroup"
)

// Placement is a workload and the number of its pods on each node, which determines
// Replicas.
type Placement struct {
	Workload
	On map[string]int
}

// Place creates workloads with an exact initial placement and waits until their pods are
// ready. The pods are not pinned: Place stops kube-scheduler and binds them through the
// same API, so replacements go wherever kube-scheduler sends them. If kube-scheduler was
// already down, it stays down.
func (c *Cluster) Place(ctx context.Context, placements ...Placement) error {
	restart := c.Running(Scheduler)
	if restart {
		if err := c.Shutdown(Scheduler); err != nil {
			return err
		}
	}
	for _, p := range placements {
		p.Replicas = 0
		for _, pods := range p.On {
			p.Replicas += pods
		}
		if err := c.Create(ctx, p.Workload); err != nil {
			return err
		}
		if err := c.bindAll(ctx, p); err != nil {
			return err
		}
	}
	if restart {
		if err := c.Restart(ctx, Scheduler); err != nil {
			return err
		}
	}
	for _, p := range placements {
		if err := c.WaitReady(ctx, p.namespace(), p.Name); err != nil {
			return err
		}
	}
	return c.wakeKwok(ctx)
}

// bindAll binds the pods of one workload once all of them exist.
func (c *Cluster) bindAll(ctx context.Context, p Placement) error {
	pods, err := c.waitPods(ctx, p.namespace(), p.Name, p.slots())
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelRequests)
	for i, node := range p.slots() {
		group.Go(func() error { return c.bind(ctx, &pods[i], node) })
	}
	return group.Wait()
}

// slots lists each node as many times as it has pods, in order.
func (p Placement) slots() []string {
	var slots []string
	for node, pods := range p.On {
		slots = append(slots, slices.Repeat([]string{node}, pods)...)
	}
	slices.Sort(slots)
	return slots
}

func (c *Cluster) waitPods(ctx context.Context, namespace, app string, slots []string) ([]corev1.Pod, error) {
	var found []corev1.Pod
	err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: appLabel + "=" + app})
		if err != nil {
			return false, nil
		}
		found = pods.Items
		return len(found) == len(slots), nil
	})
	if err != nil {
		return nil, fmt.Errorf("waiting for the pods of %s/%s, %d of %d created: %w", namespace, app, len(found), len(slots), err)
	}
	return found, nil
}

func (c *Cluster) bind(ctx context.Context, pod *corev1.Pod, node string) error {
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	}
	if err := c.client.CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("binding pod %s/%s to %q: %w", pod.Namespace, pod.Name, node, err)
	}
	return nil
}
