package admission

import (
	"context"

	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// admits reports whether a node, as the watch shows it now, is one for the pod,
// whatever else is there: the pod tolerates its taints and selects it. Land
// itself knows which nodes are closed to all. kube-scheduler does not go by a
// nomination for any other, but by requests.
func admits(ctx context.Context, nodes corelisters.NodeLister, name string, pod *v1.Pod) bool {
	node, err := nodes.Get(name)
	if err != nil {
		return false // it is gone
	}
	hard := func(taint *v1.Taint) bool { return taint.Effect != v1.TaintEffectPreferNoSchedule }
	if _, refused := corev1helpers.FindMatchingUntoleratedTaint(klog.FromContext(ctx), node.Spec.Taints, pod.Spec.Tolerations, hard, true); refused {
		return false
	}
	selected, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return selected && err == nil
}
