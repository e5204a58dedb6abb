package admission

import (
	"context"

	v1 "k8s.io/api/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// Admits reports whether the pod tolerates the node's taints and selects the node, as the
// watch shows the node now. It is needed because kube-scheduler ignores a nomination of a
// node that does not admit the pod, and then places the pod by requests. Land itself
// excludes nodes that are closed to all pods.
func Admits(ctx context.Context, nodes corelisters.NodeLister, name string, pod *v1.Pod) bool {
	node, err := nodes.Get(name)
	if err != nil {
		return false // the node no longer exists
	}
	hard := func(taint *v1.Taint) bool { return taint.Effect != v1.TaintEffectPreferNoSchedule }
	if _, refused := corev1helpers.FindMatchingUntoleratedTaint(klog.FromContext(ctx), node.Spec.Taints, pod.Spec.Tolerations, hard, true); refused {
		return false
	}
	selected, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node)
	return selected && err == nil
}
