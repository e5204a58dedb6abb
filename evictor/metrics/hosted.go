package metrics

import "sigs.k8s.io/descheduler/metrics"

// Hosted counts an eviction that a descheduler plugin asked for. It uses the framework's
// own metrics, in the same way as the framework.
func Hosted(namespace, node, profile, plugin string, err error) {
	result := success
	if err != nil {
		result = "error"
	}
	labels := map[string]string{"result": result, "strategy": plugin, "namespace": namespace, "node": node, "profile": profile}
	metrics.PodsEvicted.With(labels).Inc()
	metrics.PodsEvictedTotal.With(labels).Inc()
}
