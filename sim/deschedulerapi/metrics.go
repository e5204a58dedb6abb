package deschedulerapi

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/clientset/versioned"
	typed "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"

	"github.com/evenkeel/evenkeel/cluster"
)

// Usage returns measured usage as metrics.k8s.io would serve it; nil if nothing was
// measured.
type Usage interface {
	NodeUsage(name string) v1.ResourceList
	PodUsage(name string) v1.ResourceList
}

// NewLister returns a lister of the given nodes.
func NewLister(nodes []*v1.Node) listers.NodeLister { return nodeLister{nodes: nodes} }

type nodeLister struct {
	listers.NodeLister

	nodes []*v1.Node
}

func (l nodeLister) List(labels.Selector) ([]*v1.Node, error) { return l.nodes, nil }

// NewClient returns a client that serves the given usage. Methods that upstream does not
// call are not implemented.
func NewClient(usage Usage) versioned.Interface { return client{usage: usage} }

type client struct {
	versioned.Interface
	typed.MetricsV1beta1Interface

	usage Usage
}

func (c client) MetricsV1beta1() typed.MetricsV1beta1Interface { return c }

func (c client) NodeMetricses() typed.NodeMetricsInterface { return nodeMetrics{usage: c.usage} }

func (c client) PodMetricses(string) typed.PodMetricsInterface { return podMetrics{usage: c.usage} }

type nodeMetrics struct {
	typed.NodeMetricsInterface

	usage Usage
}

func (m nodeMetrics) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1beta1.NodeMetrics, error) {
	used := m.usage.NodeUsage(name)
	if used == nil {
		return nil, fmt.Errorf("node %q has no measurement yet", name)
	}
	return &v1beta1.NodeMetrics{ObjectMeta: metav1.ObjectMeta{Name: name}, Usage: used}, nil
}

type podMetrics struct {
	typed.PodMetricsInterface

	usage Usage
}

func (m podMetrics) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1beta1.PodMetrics, error) {
	used := m.usage.PodUsage(name)
	if used == nil {
		return nil, fmt.Errorf("pod %q is gone", name)
	}
	return &v1beta1.PodMetrics{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Containers: []v1beta1.ContainerMetrics{{Name: "c", Usage: used}},
	}, nil
}

// Distinguish returns bytes of memory to add to each node's usage. They make the sums of
// milliCPU and bytes, by which upstream sorts nodes, unique; nodes with equal sums are
// ordered by turns. Without them, the order of equally hot nodes would depend on Go's
// random map order.
func Distinguish(used []cluster.Amounts, turns []int) []int64 {
	added, taken := make([]int64, len(turns)), make(map[int64]bool, len(turns))
	for _, i := range turns {
		total := used[i][cluster.CPU] + used[i][cluster.Memory]
		for taken[total+added[i]] {
			added[i]++
		}
		taken[total+added[i]] = true
	}
	return added
}
