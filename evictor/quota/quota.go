// Package quota says whether ResourceQuotas have room for the replacement of a
// pod that still counts. It asks the evaluator of the API server's own admission
// plugin.
package quota

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/utils/clock"
)

// pods evaluates pods that are about to be created: it reads no list, and the
// clock only for pods that are terminating.
var pods = core.NewPodEvaluator(nil, clock.RealClock{})

// Allow reports whether the replacements of the pods may be created within the
// quotas of their namespace, as far as these have been counted: beside the pods
// or, by a StatefulSet, after them.
func Allow(quotas []*v1.ResourceQuota, replaced ...*v1.Pod) bool {
	for _, q := range quotas {
		if !allows(q, replaced) {
			return false
		}
	}
	return true
}

func allows(q *v1.ResourceQuota, replaced []*v1.Pod) bool {
	hard, used := q.Status.Hard, q.Status.Used
	constrained := pods.MatchingResources(quota.ResourceNames(hard))
	more := v1.ResourceList{}
	for _, pod := range replaced {
		// A quota that cannot be evaluated is the API server's to enforce.
		if matches, err := pods.Matches(q, pod); err != nil || !matches {
			continue
		}
		pod = asCreated(pod)
		if pods.Constraints(constrained, pod) != nil {
			return false // pods older than the quota may lack what it asks for
		}
		usage, err := pods.Usage(pod)
		if err != nil {
			continue
		}
		usage = quota.Mask(usage, constrained)
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == "StatefulSet" {
			used = quota.SubtractWithNonNegativeResult(used, usage)
		}
		more = quota.Add(more, usage)
	}
	// Only what grows may exceed the quota: others may have exceeded the rest.
	growing := quota.RemoveZeros(more)
	total := quota.Mask(quota.Add(used, growing), quota.ResourceNames(growing))
	within, _ := quota.LessThanOrEqual(total, hard)
	return within
}

// asCreated returns a pod without its end and its status, which would count less
// than the pod that takes its place.
func asCreated(pod *v1.Pod) *v1.Pod {
	created := &v1.Pod{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
	created.DeletionTimestamp, created.DeletionGracePeriodSeconds = nil, nil
	return created
}
