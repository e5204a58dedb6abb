package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Amounts holds CPU in milli-cores and memory in bytes.
type Amounts struct{ CPUMilli, MemoryBytes int64 }

// NodeTruth describes a node and everything that runs on it at one moment, measured or
// not.
type NodeTruth struct {
	Name string
	// InternalIP and KubeletPort are its kubelet's address.
	InternalIP  string
	KubeletPort int32
	Capacity    Amounts
	// Used is the sum of the pods' usage.
	Used Amounts
	// StolenMilli is the CPU stolen from the node, in milli-cores.
	StolenMilli int64
	Pods        []PodTruth
}

// PodTruth is a running pod. A pod that is being deleted runs until it is gone.
type PodTruth struct {
	Namespace, Name, UID string
	Started              time.Time
	Containers           []string
	// Used is the sum of the containers' usage, which is the same for each container.
	Used Amounts
}

// Truth returns the real usage of every node and pod, sorted by name, by scraping kwok.
func (c *Cluster) Truth(ctx context.Context) ([]NodeTruth, error) {
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	pods, err := c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "status.phase=Running"})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	on := map[string][]PodTruth{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		truth, err := truthOfPod(pod)
		if err != nil {
			return nil, err
		}
		on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], truth)
	}
	truths := make([]NodeTruth, 0, len(nodes.Items))
	for i := range nodes.Items {
		truth, err := truthOfNode(&nodes.Items[i], on[nodes.Items[i].Name])
		if err != nil {
			return nil, err
		}
		truths = append(truths, truth)
	}
	slices.SortFunc(truths, func(a, b NodeTruth) int { return cmp.Compare(a.Name, b.Name) })
	return truths, nil
}

func truthOfNode(node *corev1.Node, pods []PodTruth) (NodeTruth, error) {
	truth := NodeTruth{
		Name:        node.Name,
		KubeletPort: node.Status.DaemonEndpoints.KubeletEndpoint.Port,
		Capacity:    Amounts{CPUMilli: node.Status.Capacity.Cpu().MilliValue(), MemoryBytes: node.Status.Capacity.Memory().Value()},
		Pods:        pods,
	}
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			truth.InternalIP = address.Address
		}
	}
	for _, pod := range pods {
		truth.Used.CPUMilli += pod.Used.CPUMilli
		truth.Used.MemoryBytes += pod.Used.MemoryBytes
	}
	if text, denied := node.Annotations[stolenCPUAnnotation]; denied {
		stolen, err := resource.ParseQuantity(text)
		if err != nil {
			return truth, fmt.Errorf("reading %s of node %q: %w", stolenCPUAnnotation, node.Name, err)
		}
		truth.StolenMilli = stolen.MilliValue()
	}
	return truth, nil
}

func truthOfPod(pod *corev1.Pod) (PodTruth, error) {
	cpu, memory, err := podUsage(pod)
	if err != nil {
		return PodTruth{}, err
	}
	truth := PodTruth{
		Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID),
		Used: Amounts{CPUMilli: cpu.MilliValue(), MemoryBytes: memory.Value()},
	}
	if pod.Status.StartTime != nil {
		truth.Started = pod.Status.StartTime.Time
	}
	for _, container := range pod.Spec.Containers {
		truth.Containers = append(truth.Containers, container.Name)
	}
	return truth, nil
}
