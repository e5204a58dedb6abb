package cluster

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"golang.org/x/sync/errgroup"
)

// parallelRequests is the number of concurrent requests: enough to create a thousand
// nodes or pods quickly, but not so many that they overload a small machine.
const parallelRequests = 16

// internalIPAnnotation contains a node's own address, for the stage in files/kwok.yaml.
const internalIPAnnotation = "evenkeel.io/test-internal-ip"

// NodeTemplate describes identical nodes.
type NodeTemplate struct {
	// NamePrefix precedes the number: node-00, node-01 … If it is empty, "node-" is used.
	NamePrefix string
	// CPU and Memory are quantities. If they are empty, 32 cores and 256Gi are used.
	CPU, Memory string
	// Allocatable is the part of CPU and Memory that pods may request. An empty quantity
	// means all of it.
	Allocatable Resources
	// Pods is the maximum number of pods on a node; 0 means 110.
	Pods        int
	Labels      map[string]string
	Annotations map[string]string
	Taints      []corev1.Taint
	// OwnAddresses gives each node its own InternalIP, which no other process with a cluster
	// uses. On Linux, all of 127.0.0.0/8 is loopback without configuration. kwok keeps its
	// own address, which these nodes have as ExternalIP. Package exporters listens at the
	// InternalIP and the kubelet's port.
	OwnAddresses bool
}

// AddNodes creates n nodes and waits until each is ready and schedulable. They are
// numbered from 0, all with the same number of digits. AddNodes returns their names in
// order.
func (c *Cluster) AddNodes(ctx context.Context, n int, template NodeTemplate) ([]string, error) {
	capacity, err := template.capacity()
	if err != nil {
		return nil, err
	}
	allocatable, err := template.Allocatable.list()
	if err != nil {
		return nil, fmt.Errorf("reading what is allocatable by the node template: %w", err)
	}
	prefix := template.NamePrefix
	if prefix == "" {
		prefix = "node-"
	}
	addresses, err := template.addresses(n)
	if err != nil {
		return nil, err
	}
	version, err := c.client.Discovery().ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("asking for the version of new nodes: %w", err)
	}
	names := make([]string, n)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallelRequests)
	for i := range names {
		names[i] = fmt.Sprintf("%s%0*d", prefix, len(strconv.Itoa(n-1)), i)
		node := template.node(names[i], capacity, allocatable)
		node.Status.NodeInfo.KubeletVersion = version.GitVersion
		if addresses != nil {
			node.Annotations[internalIPAnnotation] = addresses[i].String()
		}
		group.Go(func() error {
			if _, err := c.client.CoreV1().Nodes().Create(groupCtx, node, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("creating node %q: %w", node.Name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return names, c.WaitNodes(ctx, names, len(template.Taints))
}

func (t NodeTemplate) capacity() (corev1.ResourceList, error) {
	cpu, memory, pods := t.CPU, t.Memory, t.Pods
	if cpu == "" {
		cpu = "32"
	}
	if memory == "" {
		memory = "256Gi"
	}
	if pods == 0 {
		pods = 110
	}
	capacity := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(pods), resource.DecimalSI)}
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("reading %s %q of the node template: %w", name, text, err)
		}
		capacity[name] = quantity
	}
	return capacity, nil
}

// addresses returns the addresses of n nodes, or nil if they share kwok's.
func (t NodeTemplate) addresses(n int) ([]netip.Addr, error) {
	if !t.OwnAddresses {
		return nil, nil
	}
	first, err := firstNodeAddress()
	if err != nil {
		return nil, err
	}
	return nodeAddresses(first, n)
}

// nodeAddresses returns n consecutive addresses, starting with first.
func nodeAddresses(first string, n int) ([]netip.Addr, error) {
	next, err := netip.ParseAddr(first)
	if err != nil {
		return nil, fmt.Errorf("reading the first address of nodes: %w", err)
	}
	addresses := make([]netip.Addr, n)
	for i := range addresses {
		if !next.IsLoopback() || next.String() == loopback {
			return nil, fmt.Errorf("assigning node addresses from %q: %s is not a free loopback address", first, next)
		}
		addresses[i], next = next, next.Next()
	}
	return addresses, nil
}

func (t NodeTemplate) node(name string, capacity, below corev1.ResourceList) *corev1.Node {
	allocatable := maps.Clone(capacity)
	maps.Copy(allocatable, below)
	labels := map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"}
	maps.Copy(labels, t.Labels)
	annotations := map[string]string{
		nodeAnnotation:                         nodeAnnotationValue,
		"metrics.k8s.io/resource-metrics-path": usagePath(name),
	}
	maps.Copy(annotations, t.Annotations)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: annotations},
		Spec:       corev1.NodeSpec{Taints: t.Taints},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: allocatable,
			NodeInfo: corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64"},
		},
	}
}

// WaitNodes waits until the nodes are ready and the node lifecycle controller has removed
// the taint that admission adds to new nodes, so that each has only the given number of
// taints left.
func (c *Cluster) WaitNodes(ctx context.Context, names []string, taints int) error {
	waiting := map[string]bool{}
	for _, name := range names {
		waiting[name] = true
	}
	err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, nil
		}
		for _, node := range nodes.Items {
			if nodeReady(&node) && len(node.Spec.Taints) == taints {
				delete(waiting, node.Name)
			}
		}
		return len(waiting) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %d of %d nodes to be ready: %w", len(waiting), len(names), err)
	}
	return nil
}

func nodeReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
