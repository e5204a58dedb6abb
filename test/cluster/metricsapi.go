package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// registerMetricsAPI routes metrics.k8s.io to metrics-server, whether or not it runs. An
// ExternalName Service lets the aggregator reach a server that does not run in a pod.
func (c *Cluster) registerMetricsAPI(ctx context.Context) error {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "metrics-server", Namespace: metav1.NamespaceSystem},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}
	if _, err := c.client.CoreV1().Services(service.Namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the Service of metrics-server: %w", err)
	}
	// Plain JSON avoids a dependency on the aggregator's client library.
	body, err := json.Marshal(map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1",
		"kind":       "APIService",
		"metadata":   map[string]any{"name": "v1beta1.metrics.k8s.io"},
		"spec": map[string]any{
			"group": "metrics.k8s.io", "version": "v1beta1",
			"groupPriorityMinimum": 100, "versionPriority": 100,
			"service":  map[string]any{"name": service.Name, "namespace": service.Namespace, "port": c.ports[MetricsServer]},
			"caBundle": c.caPEM,
		},
	})
	if err != nil {
		return fmt.Errorf("encoding the APIService of metrics-server: %w", err)
	}
	err = c.client.CoreV1().RESTClient().Post().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices").
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("creating the APIService of metrics-server: %w", err)
	}
	return nil
}

// WaitMetrics waits until metrics.k8s.io serves every running pod, and its node with a
// reading made after this call. kwok reports nothing for a node without pods. For the
// time between two readings, kwok assumes the usage found at the later one, so even the
// first such sample is correct. metrics-server reads every 10 seconds and needs two
// readings of a new node or pod, which takes 10 to 20 seconds.
func (c *Cluster) WaitMetrics(ctx context.Context) error {
	// The API's timestamps are whole seconds.
	since := time.Now().Truncate(time.Second)
	if err := c.wakeKwok(ctx); err != nil {
		return err
	}
	last := "no answer"
	err := wait.PollUntilContextCancel(ctx, 5*pollEvery, true, func(ctx context.Context) (bool, error) {
		missing, err := c.missingMetrics(ctx, since)
		if err != nil {
			last = err.Error()
			return false, nil
		}
		last = missing
		return missing == "", nil
	})
	if err != nil {
		return fmt.Errorf("waiting for metrics (%s): %w", last, err)
	}
	return nil
}

// wakeKwok reads the usage of one node that has a pod. kwok starts watching the usage of
// pods only at the first request, so the first response contains none of them. Otherwise,
// that would be metrics-server's first reading.
func (c *Cluster) wakeKwok(ctx context.Context) error {
	if c.options.RealKubelets {
		return nil
	}
	pods, err := c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running", Limit: 1})
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	if len(pods.Items) == 0 {
		return nil
	}
	if _, _, err := c.get(ctx, c.urlOf(Kwok)+usagePath(pods.Items[0].Spec.NodeName)); err != nil {
		return fmt.Errorf("reading usage from kwok: %w", err)
	}
	return nil
}

// missingMetrics describes what metrics.k8s.io still lacks; empty if nothing.
func (c *Cluster) missingMetrics(ctx context.Context, since time.Time) (string, error) {
	measured, err := c.metrics.MetricsV1beta1().NodeMetricses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	fresh := map[string]bool{}
	for _, node := range measured.Items {
		fresh[node.Name] = node.Timestamp.After(since)
	}
	pods, err := c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
	if err != nil {
		return "", err
	}
	for _, pod := range pods.Items {
		if !fresh[pod.Spec.NodeName] {
			return "no fresh sample of node " + pod.Spec.NodeName, nil
		}
	}
	return c.missingPodMetrics(ctx, pods.Items)
}

func (c *Cluster) missingPodMetrics(ctx context.Context, pods []corev1.Pod) (string, error) {
	measured, err := c.metrics.MetricsV1beta1().PodMetricses("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	known := map[string]bool{}
	for _, pod := range measured.Items {
		known[pod.Namespace+"/"+pod.Name] = true
	}
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && !known[pod.Namespace+"/"+pod.Name] {
			return fmt.Sprintf("no sample of pod %s/%s", pod.Namespace, pod.Name), nil
		}
	}
	return "", nil
}

// MeasuredUsage returns what metrics.k8s.io currently reports per node, in
// percent of allocatable.
func (c *Cluster) MeasuredUsage(ctx context.Context) (map[string]NodeLoad, error) {
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	measured, err := c.metrics.MetricsV1beta1().NodeMetricses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing node metrics: %w", err)
	}
	allocatable := map[string]corev1.ResourceList{}
	for _, node := range nodes.Items {
		allocatable[node.Name] = node.Status.Allocatable
	}
	loads := map[string]NodeLoad{}
	for _, node := range measured.Items {
		capacity, known := allocatable[node.Name]
		if !known {
			continue
		}
		loads[node.Name] = NodeLoad{
			CPUPercent:    percent(node.Usage.Cpu().MilliValue(), capacity.Cpu().MilliValue()),
			MemoryPercent: percent(node.Usage.Memory().Value(), capacity.Memory().Value()),
		}
	}
	return loads, nil
}

// usagePath returns the path at which kwok serves a node's usage. All nodes share one
// port.
func usagePath(node string) string { return "/metrics/nodes/" + node + "/metrics/resource" }

func percent(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}
