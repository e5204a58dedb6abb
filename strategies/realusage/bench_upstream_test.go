package realusage

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/clientset/versioned"
	typed "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	"sigs.k8s.io/descheduler/pkg/descheduler/metricscollector"
	frameworkfake "sigs.k8s.io/descheduler/pkg/framework/fake"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/nodeutilization"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
)

// rival is upstream's LowNodeUtilization on a fleet, with the usage and the evict line that
// Evenkeel uses. It counts evictions but does not make them.
type rival struct {
	*frameworkfake.HandleImpl

	ctx               context.Context
	fleet             *fleet
	plugin            frameworktypes.BalancePlugin
	evicted, fromCool int
}

func newRival(tb testing.TB, f *fleet) *rival {
	tb.Helper()
	r := &rival{HandleImpl: f.handle(tb, true), fleet: f, ctx: klog.NewContext(tb.Context(), logr.Discard())}
	r.MetricsCollectorImpl = metricscollector.NewMetricsCollector(
		f.shared.Core().V1().Nodes().Lister(), metricsClient{fleet: f}, labels.Everything())
	if err := r.MetricsCollectorImpl.Collect(r.ctx); err != nil {
		tb.Fatal(err)
	}
	plugin, err := nodeutilization.NewLowNodeUtilization(r.ctx, &nodeutilization.LowNodeUtilizationArgs{
		Thresholds:         api.ResourceThresholds{v1.ResourceCPU: 45},
		TargetThresholds:   api.ResourceThresholds{v1.ResourceCPU: 65},
		MetricsUtilization: &nodeutilization.MetricsUtilization{Source: api.KubernetesMetrics},
	}, r)
	if err != nil {
		tb.Fatal(err)
	}
	r.plugin = plugin.(frameworktypes.BalancePlugin)
	return r
}

// Evictor implements frameworktypes.Handle.
func (r *rival) Evictor() frameworktypes.Evictor { return r }

// Evict implements frameworktypes.Evictor.
func (r *rival) Evict(_ context.Context, pod *v1.Pod, _ evictions.EvictOptions) error {
	r.evicted++
	if r.fleet.observed.States[pod.Spec.NodeName].State == thresholds.Cool {
		r.fromCool++
	}
	return nil
}

// metricsClient serves the same data as metrics.k8s.io. It does not implement methods that upstream
// does not call.
type metricsClient struct {
	versioned.Interface
	typed.MetricsV1beta1Interface
	typed.NodeMetricsInterface

	fleet *fleet
}

func (c metricsClient) MetricsV1beta1() typed.MetricsV1beta1Interface { return c }

func (c metricsClient) NodeMetricses() typed.NodeMetricsInterface { return c }

func (c metricsClient) PodMetricses(string) typed.PodMetricsInterface {
	return podMetrics{fleet: c.fleet}
}

func (c metricsClient) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1beta1.NodeMetrics, error) {
	view := c.fleet.observed.View
	i := view.Snapshot.Index(name)
	if i < 0 {
		return nil, fmt.Errorf("no node %q", name)
	}
	return &v1beta1.NodeMetrics{ObjectMeta: metav1.ObjectMeta{Name: name}, Usage: listOf(view.Nodes[i].Measured[0])}, nil
}

type podMetrics struct {
	typed.PodMetricsInterface

	fleet *fleet
}

func (m podMetrics) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1beta1.PodMetrics, error) {
	return &v1beta1.PodMetrics{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Containers: []v1beta1.ContainerMetrics{{Name: "main", Usage: listOf(m.fleet.uses[name])}},
	}, nil
}

func listOf(amounts cluster.Amounts) v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(amounts[cluster.CPU], resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(amounts[cluster.Memory], resource.BinarySI),
	}
}
