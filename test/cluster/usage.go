package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// stolenCPUAnnotation contains the CPU stolen from a node, as a quantity, for the metric
// in files/kwok.yaml.
const stolenCPUAnnotation = "evenkeel.io/test-stolen-cpu"

// NodeLoad is the load of a node, in percent of its allocatable resources.
type NodeLoad struct {
	CPUPercent    float64
	MemoryPercent float64
	// Pods is the number of pods on the node, Terminating the number of them that are being
	// deleted. The percentages exclude terminating pods.
	Pods, Terminating int
}

// SetUsage changes the usage of an existing pod. An empty quantity leaves the usage
// unchanged.
func (c *Cluster) SetUsage(ctx context.Context, namespace, pod string, usage Resources) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": usage.annotations()}})
	if err != nil {
		return fmt.Errorf("encoding usage: %w", err)
	}
	_, err = c.client.CoreV1().Pods(namespace).Patch(ctx, pod, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("setting usage of pod %s/%s: %w", namespace, pod, err)
	}
	return nil
}

// StealCPU takes an amount of CPU away from a node, as if since its creation. Only
// Prometheus, with node-exporter's metric names, shows it.
func (c *Cluster) StealCPU(ctx context.Context, node, cpu string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{stolenCPUAnnotation: cpu}}})
	if err != nil {
		return fmt.Errorf("encoding stolen CPU: %w", err)
	}
	if _, err = c.client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("setting the stolen CPU of node %q: %w", node, err)
	}
	return nil
}

// NodeUsage returns the current true usage of every node: that of its bound pods
// according to their annotations, measured or not.
func (c *Cluster) NodeUsage(ctx context.Context) (map[string]NodeLoad, error) {
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	pods, err := c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	return trueUsage(nodes.Items, pods.Items)
}

func trueUsage(nodes []corev1.Node, pods []corev1.Pod) (map[string]NodeLoad, error) {
	cpuMilli, memoryBytes := map[string]int64{}, map[string]int64{}
	loads := map[string]NodeLoad{}
	for i := range pods {
		pod := &pods[i]
		if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		load := loads[pod.Spec.NodeName]
		if pod.DeletionTimestamp != nil {
			load.Terminating++
			loads[pod.Spec.NodeName] = load
			continue
		}
		load.Pods++
		loads[pod.Spec.NodeName] = load
		cpu, memory, err := podUsage(pod)
		if err != nil {
			return nil, err
		}
		cpuMilli[pod.Spec.NodeName] += cpu.MilliValue()
		memoryBytes[pod.Spec.NodeName] += memory.Value()
	}
	known := make(map[string]NodeLoad, len(nodes))
	for _, node := range nodes {
		load := loads[node.Name]
		load.CPUPercent = percent(cpuMilli[node.Name], node.Status.Allocatable.Cpu().MilliValue())
		load.MemoryPercent = percent(memoryBytes[node.Name], node.Status.Allocatable.Memory().Value())
		known[node.Name] = load
	}
	return known, nil
}

// podUsage returns the usage that kwok is configured to report: that in the annotations,
// or 1m and 1Mi, for each container.
func podUsage(pod *corev1.Pod) (cpu, memory resource.Quantity, err error) {
	read := func(annotation, fallback string) (resource.Quantity, error) {
		text, set := pod.Annotations[annotation]
		if !set {
			text = fallback
		}
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return quantity, fmt.Errorf("reading %s of pod %s/%s: %w", annotation, pod.Namespace, pod.Name, err)
		}
		quantity.Mul(int64(len(pod.Spec.Containers)))
		return quantity, nil
	}
	if cpu, err = read(UsageCPUAnnotation, "1m"); err != nil {
		return cpu, memory, err
	}
	memory, err = read(UsageMemoryAnnotation, "1Mi")
	return cpu, memory, err
}
