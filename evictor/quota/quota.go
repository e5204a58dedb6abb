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
	created := make([]replacement, 0, len(replaced))
	for _, pod := range replaced {
		r := replacement{pod: asCreated(pod)}
		r.usage, r.err = pods.Usage(r.pod)
		created = append(created, r)
	}
	for _, q := range quotas {
		if len(created) > 0 && !allows(q, created) {
			return false
		}
	}
	return true
}

// replacement is a pod that is about to be created, with what it uses of quotas.
type replacement struct {
	pod   *v1.Pod
	usage v1.ResourceList
	err   error
}

func allows(q *v1.ResourceQuota, replacements []replacement) bool {
	hard, used := q.Status.Hard, q.Status.Used
	constrained := pods.MatchingResources(quota.ResourceNames(hard))
	more := v1.ResourceList{}
	for i := range replacements {
		r := &replacements[i]
		// A quota that cannot be evaluated is the API server's to enforce.
		if matches, err := pods.Matches(q, r.pod); err != nil || !matches {
			continue
		}
		if pods.Constraints(constrained, r.pod) != nil {
			return false // pods older than the quota may lack what it asks for
		}
		if r.err != nil {
			continue
		}
		usage := quota.Mask(r.usage, constrained)
		if owner := metav1.GetControllerOfNoCopy(r.pod); owner != nil && owner.Kind == "StatefulSet" {
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
