package owners

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// OfJob returns the state of a Job, for one of its pods.
func OfJob(job *batchv1.Job, pod *v1.Pod, now time.Time) Owner {
	if by := ptr.Deref(job.Spec.ManagedBy, batchv1.JobControllerName); by != batchv1.JobControllerName {
		return Owner{Missing: true} // another controller has other rules
	}
	wants, replaces := wantedNow(job)
	o := Owner{
		Unsteerable: unsteerable(&job.Spec.Template), Replicas: wants,
		ScaledDown: !replaces || wants == 0 || int(job.Status.Active) > wants || surplus(job, pod),
		Waits:      replacesEnded(job), Backoff: backoff(job, pod, wants),
	}
	o.Limited, o.Retries = retries(job, pod)
	o.Failed = failures(&job.Status)
	if late(job, pod, now) {
		o.Limited, o.Retries = true, 0
	}
	return o
}

// wantedNow returns how many pods a Job wants to be running, and whether it
// replaces pods that are gone.
func wantedNow(job *batchv1.Job) (pods int, replaces bool) {
	s, status := &job.Spec, &job.Status
	ending := slices.ContainsFunc(status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == v1.ConditionTrue && c.Type != batchv1.JobSuspended
	})
	switch pods = Wanted(job); {
	case ending:
		return 0, false
	case s.Completions == nil:
		return pods, status.Succeeded == 0 // the first success ends a work queue
	}
	return min(pods, int(*s.Completions-status.Succeeded)), true
}

// surplus reports whether a pod's index is not among those that an indexed Job
// wants, because it may have been scaled down.
func surplus(job *batchv1.Job, pod *v1.Pod) bool {
	if ptr.Deref(job.Spec.CompletionMode, batchv1.NonIndexedCompletion) != batchv1.IndexedCompletion || job.Spec.Completions == nil {
		return false
	}
	// From Kubernetes 1.28, the label equals the annotation.
	stated := cmp.Or(pod.Annotations[batchv1.JobCompletionIndexAnnotation], pod.Labels[batchv1.JobCompletionIndexAnnotation])
	index, err := strconv.Atoi(stated)
	return err == nil && index >= int(*job.Spec.Completions)
}

// retries returns whether an eviction counts as a failure of the Job, and how many more
// failures the Job survives.
func retries(job *batchv1.Job, pod *v1.Pod) (limited bool, left int) {
	s, status := &job.Spec, &job.Status
	switch evicted(s.PodFailurePolicy) {
	case batchv1.PodFailurePolicyActionIgnore:
		return false, 0
	case batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionFailIndex:
		return true, 0
	case batchv1.PodFailurePolicyActionCount:
	}
	if s.BackoffLimitPerIndex != nil {
		failures, _ := strconv.Atoi(pod.Annotations[batchv1.JobIndexFailureCountAnnotation]) // 0 before the first
		if failures >= int(*s.BackoffLimitPerIndex) {
			return true, 0 // the index would fail for good, whatever maxFailedIndexes allows
		}
		if s.BackoffLimit == nil {
			return false, 0
		}
	}
	return true, max(int(ptr.Deref(s.BackoffLimit, defaultBackoffLimit))-failures(status), 0)
}

// replacesEnded reports whether a Job creates another pod only after the previous one has
// ended. By default it creates one as soon as the previous one is terminating.
func replacesEnded(job *batchv1.Job) bool {
	return job.Spec.PodFailurePolicy != nil || ptr.Deref(job.Spec.PodReplacementPolicy, "") == batchv1.Failed
}

// After the first in a series of pod failures, the Job controller waits for firstBackoff.
// It waits twice as long after each further failure, up to maxBackoff.
const (
	firstBackoff = 10 * time.Second
	maxBackoff   = 10 * time.Minute
)

// backoff returns the maximum time that a Job waits before it replaces this pod. The
// controller counts consecutive failures, which are not stored in any object, so all
// failures count here.
func backoff(job *batchv1.Job, pod *v1.Pod, wants int) time.Duration {
	n := 0
	switch {
	case job.Spec.BackoffLimitPerIndex != nil: // each index has its own failures
		for _, key := range []string{batchv1.JobIndexFailureCountAnnotation, batchv1.JobIndexIgnoredFailureCountAnnotation} {
			failed, _ := strconv.Atoi(pod.Annotations[key])
			n += max(failed, 0)
		}
		n++
	case ignores(job.Spec.PodFailurePolicy): // the status does not include ignored failures, but the controller counts them
		return maxBackoff
	default: // other pods may fail as well before this one is replaced
		n = failures(&job.Status) + max(wants, 1)
	}
	wait := firstBackoff
	for ; n > 1 && wait < maxBackoff; n-- {
		wait *= 2
	}
	return min(wait, maxBackoff)
}

// ignores reports whether a policy ignores some failures.
func ignores(policy *batchv1.PodFailurePolicy) bool {
	return policy != nil && slices.ContainsFunc(policy.Rules, func(rule batchv1.PodFailurePolicyRule) bool {
		return rule.Action == batchv1.PodFailurePolicyActionIgnore
	})
}

// failures returns the number of failed pods that a Job has counted.
func failures(status *batchv1.JobStatus) int {
	n := int(status.Failed)
	if status.UncountedTerminatedPods != nil {
		n += len(status.UncountedTerminatedPods.Failed)
	}
	return n
}

const defaultBackoffLimit = 6 // the API's default

// evicted returns the action of a policy for an evicted pod, or the worst possible action
// if that depends on the exit codes of its containers. A rule that counts some exit codes
// is worse than a later rule that ignores disruptions.
func evicted(policy *batchv1.PodFailurePolicy) batchv1.PodFailurePolicyAction {
	if policy == nil {
		return batchv1.PodFailurePolicyActionCount
	}
	counts := false               // whether an exit with a certain code counts
	for i := range policy.Rules { // the first match decides
		rule := &policy.Rules[i]
		fails := rule.Action == batchv1.PodFailurePolicyActionFailJob || rule.Action == batchv1.PodFailurePolicyActionFailIndex
		disrupted := slices.ContainsFunc(rule.OnPodConditions, func(c batchv1.PodFailurePolicyOnPodConditionsPattern) bool {
			return c.Type == v1.DisruptionTarget && (c.Status == "" || c.Status == v1.ConditionTrue)
		})
		switch {
		case disrupted && counts && !fails:
			return batchv1.PodFailurePolicyActionCount
		case disrupted || fails && rule.OnExitCodes != nil:
			return rule.Action
		}
		counts = counts || rule.OnExitCodes != nil && rule.Action == batchv1.PodFailurePolicyActionCount
	}
	return batchv1.PodFailurePolicyActionCount
}

// late reports whether the Job's deadline leaves a replacement less time than this pod
// has already run.
func late(job *batchv1.Job, pod *v1.Pod, now time.Time) bool {
	if job.Spec.ActiveDeadlineSeconds == nil || job.Status.StartTime == nil {
		return false
	}
	deadline := min(*job.Spec.ActiveDeadlineSeconds, math.MaxInt32) // 68 years; later times overflow
	left := job.Status.StartTime.Add(time.Duration(deadline) * time.Second).Sub(now)
	return left <= 0 || pod.Status.StartTime != nil && left < now.Sub(pod.Status.StartTime.Time)
}
