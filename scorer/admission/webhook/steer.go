package webhook

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster/names"
	"github.com/evenkeel/evenkeel/scorer/admission"
)

// add returns a step that adds to existing content. All steps are of this kind, because
// the API server rejects the pod if a patch does not apply, regardless of the
// failurePolicy.
func add(path string, value any) admission.Step {
	return admission.Step{Op: "add", Path: path, Value: value}
}

// steerable reports whether a new pod may be steered and has not been steered yet.
func steerable(pod *v1.Pod) bool {
	by := metav1.GetControllerOfNoCopy(pod)
	_, steered := pod.Annotations[names.Annotation]
	held := slices.ContainsFunc(pod.Spec.SchedulingGates, func(g v1.PodSchedulingGate) bool { return g.Name == admission.Gate })
	return by != nil && by.Kind != "DaemonSet" && pod.Spec.NodeName == "" && !steered && !held
}

// steer returns the steps that hold the pod if hold is true, and otherwise restrict it to
// nodes. It returns none if the pod cannot be restricted to node names.
func steer(pod *v1.Pod, nodes []string, hold bool) []admission.Step {
	if hold {
		gate := v1.PodSchedulingGate{Name: admission.Gate}
		if len(pod.Spec.SchedulingGates) > 0 {
			return []admission.Step{annotate(pod, names.Gate), add("/spec/schedulingGates/-", gate)}
		}
		return []admission.Step{annotate(pod, names.Gate), add("/spec/schedulingGates", []v1.PodSchedulingGate{gate})}
	}
	named := pod.DeepCopy()
	if !names.Add(named, nodes) {
		return nil
	}
	steps := append([]admission.Step{annotate(pod, named.Annotations[names.Annotation])}, restrict(pod, named)...)
	for i := range named.Spec.TopologySpreadConstraints {
		steps = append(steps, add(fmt.Sprintf("/spec/topologySpreadConstraints/%d/nodeAffinityPolicy", i), named.Spec.TopologySpreadConstraints[i].NodeAffinityPolicy))
	}
	return steps
}

func annotate(pod *v1.Pod, by string) admission.Step {
	if len(pod.Annotations) == 0 {
		return add("/metadata/annotations", map[string]string{names.Annotation: by})
	}
	return add("/metadata/annotations/"+admission.EscapePointer(names.Annotation), by)
}

// restrict gives a pod the node affinity of its restricted copy, and keeps everything else.
func restrict(pod, named *v1.Pod) []admission.Step {
	switch affinity := named.Spec.Affinity; {
	case pod.Spec.Affinity == nil:
		return []admission.Step{add("/spec/affinity", affinity)}
	case pod.Spec.Affinity.NodeAffinity == nil:
		return []admission.Step{add("/spec/affinity/nodeAffinity", affinity.NodeAffinity)}
	default:
		const path, during = "/spec/affinity/nodeAffinity/", "DuringSchedulingIgnoredDuringExecution"
		return []admission.Step{
			add(path+"required"+during, affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution),
			add(path+"preferred"+during, affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution),
		}
	}
}
