// Package quota says whether ResourceQuotas have room for the replacement of a
// pod that still counts. It asks the evaluator of the API server's own admission
// plugin.
package quota

import (
	v1 "k8s.io/api/core/v1"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/utils/clock"
)

// pods evaluates pods that are about to be created: it reads no list, and the
// clock only for pods that are terminating.
var pods = core.NewPodEvaluator(nil, clock.RealClock{})

// Allow reports whether one more of each of the pods would stay within the
// quotas of their namespace, as far as these have been counted.
func Allow(quotas []*v1.ResourceQuota, created ...*v1.Pod) bool {
	for _, q := range quotas {
		if !allows(q, created) {
			return false
		}
	}
	return true
}

func allows(q *v1.ResourceQuota, created []*v1.Pod) bool {
	hard := q.Status.Hard
	constrained := pods.MatchingResources(quota.ResourceNames(hard))
	more := v1.ResourceList{}
	for _, pod := range created {
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
		more = quota.Add(more, quota.Mask(usage, constrained))
	}
	// Only what grows may exceed the quota: others may have exceeded the rest.
	growing := quota.RemoveZeros(more)
	total := quota.Mask(quota.Add(q.Status.Used, growing), quota.ResourceNames(growing))
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
