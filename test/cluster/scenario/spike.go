package scenario

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"golang.org/x/sync/errgroup"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// parallelPatches allows a hundred pods to be changed within a second.
const parallelPatches = 16

// Spike multiplies the CPU usage of all existing pods of a Deployment and returns a
// function that undoes this. It does not change the Deployment's template, because that
// would replace the pods. The replacement of a pod that is evicted during the spike
// therefore has no spike. Undoing skips pods that no longer exist.
func Spike(ctx context.Context, c *cluster.Cluster, namespace, deployment string, factor float64) (undo func(context.Context) error, err error) {
	before, err := cpuUsage(ctx, c, namespace, deployment)
	if err != nil {
		return nil, err
	}
	during := map[string]string{}
	for pod, cpu := range before {
		quantity, err := resource.ParseQuantity(cpu)
		if err != nil {
			return nil, fmt.Errorf("reading the usage of pod %s/%s: %w", namespace, pod, err)
		}
		milli := int64(factor * float64(quantity.MilliValue()))
		during[pod] = resource.NewMilliQuantity(milli, resource.DecimalSI).String()
	}
	undo = func(ctx context.Context) error { return setCPU(ctx, c, namespace, before) }
	return undo, setCPU(ctx, c, namespace, during)
}

// cpuUsage returns the usage of each pod, by name.
func cpuUsage(ctx context.Context, c *cluster.Cluster, namespace, deployment string) (map[string]string, error) {
	pods, err := c.Client().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + deployment})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of %s/%s: %w", namespace, deployment, err)
	}
	if len(pods.Items) == 0 {
		return nil, fmt.Errorf("listing the pods of %s/%s: there are none", namespace, deployment)
	}
	usage := map[string]string{}
	for _, pod := range pods.Items {
		if cpu, set := pod.Annotations[cluster.UsageCPUAnnotation]; set {
			usage[pod.Name] = cpu
		}
	}
	return usage, nil
}

func setCPU(ctx context.Context, c *cluster.Cluster, namespace string, usage map[string]string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelPatches)
	for pod, cpu := range usage {
		group.Go(func() error {
			err := c.SetUsage(ctx, namespace, pod, cluster.Resources{CPU: cpu})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
	}
	return group.Wait()
}
