package realusage

import (
	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
)

// openFor counts the cool nodes that take pods. A node with taints takes only pods that
// tolerate them.
func openFor(pods map[*cluster.Pod]*v1.Pod, nodes []plan.Node, all []*plugin.Node) (open int) {
	tainted := map[string][]v1.Taint{}
	for _, n := range all {
		if len(n.Object.Spec.Taints) > 0 {
			tainted[n.Name()] = n.Object.Spec.Taints
		}
	}
	for i := range nodes {
		if n := &nodes[i]; n.Open() && tolerated(tainted[n.Name], pods) {
			open++
		}
	}
	return open
}

// tolerated reports whether pods can run on a node despite its taints: either none of the
// taints repels pods, or at least one of the given pods tolerates all that do.
func tolerated(taints []v1.Taint, pods map[*cluster.Pod]*v1.Pod) bool {
	repels := func(taint *v1.Taint) bool { return taint.Effect != v1.TaintEffectPreferNoSchedule }
	repelled := func(tolerations []v1.Toleration) bool {
		_, repelled := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), taints, tolerations, repels, true)
		return repelled
	}
	if !repelled(nil) {
		return true
	}
	for _, pod := range pods {
		if !repelled(pod.Spec.Tolerations) {
			return true
		}
	}
	return false
}
