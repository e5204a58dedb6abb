package sim

import (
	"context"

	promapi "github.com/prometheus/client_golang/api"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	"sigs.k8s.io/descheduler/pkg/descheduler/metricscollector"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"
)

// evicting is what evicts in a world: Evenkeel or upstream's plugin.
type evicting interface {
	evict(ctx context.Context, pod *v1.Pod) error
}

// handle is what plugins of the descheduler framework see of a world.
type handle struct {
	world     *world
	by        evicting
	collector *metricscollector.MetricsCollector
}

var (
	_ frameworktypes.Handle  = (*handle)(nil)
	_ frameworktypes.Evictor = (*handle)(nil)
)

// ClientSet implements frameworktypes.Handle: there is no API server.
func (h *handle) ClientSet() kubernetes.Interface { return nil }

// PrometheusClient implements frameworktypes.Handle.
func (h *handle) PrometheusClient() promapi.Client { return nil }

// Evictor implements frameworktypes.Handle.
func (h *handle) Evictor() frameworktypes.Evictor { return h }

// SharedInformerFactory implements frameworktypes.Handle.
func (h *handle) SharedInformerFactory() informers.SharedInformerFactory { return nil }

// MetricsCollector implements frameworktypes.Handle.
func (h *handle) MetricsCollector() *metricscollector.MetricsCollector { return h.collector }

// PluginInstanceID implements frameworktypes.Handle.
func (h *handle) PluginInstanceID() string { return "0" }

// GetPodsAssignedToNodeFunc implements frameworktypes.Handle.
func (h *handle) GetPodsAssignedToNodeFunc() podutil.GetPodsAssignedToNodeFunc {
	return func(name string, filter podutil.FilterFunc) ([]*v1.Pod, error) {
		var pods []*v1.Pod
		for _, pod := range h.world.assigned[h.world.index[name]] {
			if filter == nil || filter(pod) {
				pods = append(pods, pod)
			}
		}
		return pods, nil
	}
}

// Filter implements frameworktypes.Evictor: fixed pods stay.
func (h *handle) Filter(pod *v1.Pod) bool {
	i, ok := h.world.byName(pod.Name)
	return ok && !h.world.replicas[i].Fixed
}

// PreEvictionFilter implements frameworktypes.Evictor.
func (h *handle) PreEvictionFilter(*v1.Pod) bool { return true }

// Evict implements frameworktypes.Evictor.
func (h *handle) Evict(ctx context.Context, pod *v1.Pod, _ evictions.EvictOptions) error {
	return h.by.evict(ctx, pod)
}
