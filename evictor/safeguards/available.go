package safeguards

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// MinAvailableAnnotation on a pod or its owner is the minimum number of the owner's pods
// that must be available, or the minimum percentage of its replicas.
const MinAvailableAnnotation = "evenkeel.io/min-available"

// MinAvailable returns the number of pods that must be available according to the
// annotations of a pod, its owner and the owners above. If there are several numbers, it
// returns the highest. It returns false if one of the annotations is invalid.
func MinAvailable(pod *v1.Pod, owner map[string]string, replicas int, parents ...map[string]string) (least int, ok bool) {
	for _, annotations := range append([]map[string]string{pod.Annotations, owner}, parents...) {
		text, given := annotations[MinAvailableAnnotation]
		if !given {
			continue
		}
		value := intstr.Parse(text)
		n, err := intstr.GetScaledValueFromIntOrPercent(&value, replicas, true)
		if err != nil || n < 0 {
			return 0, false
		}
		least = max(least, n)
	}
	return least, true
}

// Disrupted reports whether a pod is terminating or about to terminate. The API server,
// preemption by the scheduler and the taint manager mark such a pod with a condition, and
// a background eviction marks it with an annotation.
func Disrupted(pod *v1.Pod) bool {
	_, target := podutil.GetPodCondition(&pod.Status, v1.DisruptionTarget)
	_, background := pod.Annotations[evictionInProgress]
	return pod.DeletionTimestamp != nil || background || target != nil && target.Status == v1.ConditionTrue
}
