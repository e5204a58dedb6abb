// Package quota decides whether ResourceQuotas have space for a replacement while the
// replaced pod still counts. It uses the evaluator of the API server's own admission
// plugin.
package quota

import (
	v1 "k8s.io/api/core/v1"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/utils/clock"
)

// evaluator evaluates pods that are about to be created. It reads no lists, and uses the
// clock only for terminating pods.
var evaluator = core.NewPodEvaluator(nil, clock.RealClock{})

// Replaced is a pod that is evicted.
type Replaced struct {
	Pod *v1.Pod
	// Ends reports whether the replacement is created only after the pod has ended.
	Ends bool
}

// Allow reports whether the replacements of pods fit within the quotas of their
// namespace, according to the usage in the quotas' status.
func Allow(quotas []*v1.ResourceQuota, pods ...Replaced) bool {
	created := make([]replacement, 0, len(pods))
	for _, old := range pods {
		r := replacement{pod: asCreated(old.Pod), ends: old.Ends}
		r.usage, r.err = evaluator.Usage(r.pod)
		created = append(created, r)
	}
	for _, q := range quotas {
		if len(created) > 0 && !allows(q, created) {
			return false
		}
	}
	return true
}

// replacement is a pod that is about to be created, with its usage of quotas.
type replacement struct {
	pod   *v1.Pod
	ends  bool // the replaced pod has ended by then and no longer uses anything
	usage v1.ResourceList
	err   error
}

func allows(q *v1.ResourceQuota, replacements []replacement) bool {
	hard, used := q.Status.Hard, q.Status.Used
	constrained := evaluator.MatchingResources(quota.ResourceNames(hard))
	more := v1.ResourceList{}
	for i := range replacements {
		r := &replacements[i]
		// A quota that cannot be evaluated is left to the API server.
		if matches, err := evaluator.Matches(q, r.pod); err != nil || !matches {
			continue
		}
		if evaluator.Constraints(constrained, r.pod) != nil {
			return false // a pod older than the quota may lack a field that it requires
		}
		if r.err != nil {
			continue
		}
		usage := quota.Mask(r.usage, constrained)
		if r.ends {
			used = quota.SubtractWithNonNegativeResult(used, usage)
		}
		more = quota.Add(more, usage)
	}
	// Check only resources whose usage grows, because other pods may already have
	// exceeded the quota of the rest.
	growing := quota.RemoveZeros(more)
	total := quota.Mask(quota.Add(used, growing), quota.ResourceNames(growing))
	within, _ := quota.LessThanOrEqual(total, hard)
	return within
}

// asCreated returns a pod without its deletion timestamp and status. With these, it would
// count for less than its replacement.
func asCreated(pod *v1.Pod) *v1.Pod {
	created := &v1.Pod{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
	created.DeletionTimestamp, created.DeletionGracePeriodSeconds = nil, nil
	return created
}
