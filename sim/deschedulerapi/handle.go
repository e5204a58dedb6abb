// Package deschedulerapi provides the environment for descheduler framework plugins in a
// replay: a handle and metrics.
package deschedulerapi

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

// World is the part of a replay that plugins see.
type World interface {
	PodsOn(node string) []*v1.Pod
	// Evictable reports whether a pod may be evicted.
	Evictable(pod *v1.Pod) bool
}

// Evicting is what evicts: Evenkeel or upstream's plugin.
type Evicting interface {
	Evict(ctx context.Context, pod *v1.Pod) error
}

// Handle is the framework's handle for a plugin.
type Handle struct {
	World     World
	By        Evicting
	Collector *metricscollector.MetricsCollector
}

var (
	_ frameworktypes.Handle  = (*Handle)(nil)
	_ frameworktypes.Evictor = (*Handle)(nil)
)

// ClientSet implements frameworktypes.Handle. It returns nil, because there is no API
// server.
func (h *Handle) ClientSet() kubernetes.Interface { return nil }

// PrometheusClient implements frameworktypes.Handle.
func (h *Handle) PrometheusClient() promapi.Client { return nil }

// Evictor implements frameworktypes.Handle.
func (h *Handle) Evictor() frameworktypes.Evictor { return h }

// SharedInformerFactory implements frameworktypes.Handle.
func (h *Handle) SharedInformerFactory() informers.SharedInformerFactory { return nil }

// MetricsCollector implements frameworktypes.Handle.
func (h *Handle) MetricsCollector() *metricscollector.MetricsCollector { return h.Collector }

// PluginInstanceID implements frameworktypes.Handle.
func (h *Handle) PluginInstanceID() string { return "0" }

// GetPodsAssignedToNodeFunc implements frameworktypes.Handle.
func (h *Handle) GetPodsAssignedToNodeFunc() podutil.GetPodsAssignedToNodeFunc {
	return func(name string, filter podutil.FilterFunc) ([]*v1.Pod, error) {
		var pods []*v1.Pod
		for _, pod := range h.World.PodsOn(name) {
			if filter == nil || filter(pod) {
				pods = append(pods, pod)
			}
		}
		return pods, nil
	}
}

// Filter implements frameworktypes.Evictor.
func (h *Handle) Filter(pod *v1.Pod) bool { return h.World.Evictable(pod) }

// PreEvictionFilter implements frameworktypes.Evictor.
func (h *Handle) PreEvictionFilter(*v1.Pod) bool { return true }

// Evict implements frameworktypes.Evictor.
func (h *Handle) Evict(ctx context.Context, pod *v1.Pod, _ evictions.EvictOptions) error {
	return h.By.Evict(ctx, pod)
}
