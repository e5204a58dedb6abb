package safeguards

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/evenkeel/evenkeel/reasons"
)

// EvictAnnotation on a pod, its owner or its Namespace keeps the pod where it is if its
// value is "false" or neither true nor false. A "true" closer to the pod does not
// override a "false", because someone relies on the latter.
const EvictAnnotation = "evenkeel.io/evict"

const (
	// deschedulerEvict lets descheduler evict a pod that it would otherwise protect.
	// descheduler ignores the value, but "false" is clearly meant to forbid the eviction.
	deschedulerEvict = "descheduler.alpha.kubernetes.io/evict"
	// safeToEvict is cluster-autoscaler's annotation.
	safeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	// doNotDisrupt is Karpenter's annotation: "true", or a duration after the
	// pod's start. doNotEvict was its name before Karpenter 0.32.
	doNotDisrupt = "karpenter.sh/do-not-disrupt"
	doNotEvict   = "karpenter.sh/do-not-evict"
)

// background holds descheduler's annotations of pods that are not evicted at once. Their
// eviction only starts another process, such as a live migration, that decides when and
// where the pod moves.
var background = []string{"descheduler.alpha.kubernetes.io/request-evict-only", evictionInProgress}

const evictionInProgress = "descheduler.alpha.kubernetes.io/eviction-in-progress"

// groupKeys holds the labels and annotations of pods that work or are scheduled only
// together, so that evicting one affects all.
var groupKeys = []string{
	"leaderworkerset.sigs.k8s.io/name",
	"jobset.sigs.k8s.io/jobset-name",
	"scheduling.x-k8s.io/pod-group",    // scheduler-plugins
	"pod-group.scheduling.sigs.k8s.io", // scheduler-plugins before 0.24
	"kueue.x-k8s.io/pod-group-name",    // plain pods and StatefulSets
	"scheduling.k8s.io/group-name",     // Volcano and kube-batch
	"scheduling.volcano.sh/group-name", // Volcano
	"volcano.sh/job-name",              // Volcano
	"training.kubeflow.org/job-name",   // Kubeflow Trainer v1; v2 makes JobSets
	"ray.io/cluster",                   // KubeRay
	"yunikorn.apache.org/task-group-name",
	"gang.scheduling.koordinator.sh/name",
}

// recreating holds the controllers known to replace an evicted pod. A Job does so until
// its backoffLimit is reached; the policy decides whether pods of Jobs may be evicted.
var recreating = []schema.GroupKind{
	{Group: "apps", Kind: "ReplicaSet"},
	{Group: "apps", Kind: "StatefulSet"},
	{Kind: "ReplicationController"},
	job,
}

var job = schema.GroupKind{Group: "batch", Kind: "Job"}

// Words holds the annotations that apply to a pod in addition to the pod's own.
type Words struct {
	Owner, Namespace map[string]string
	// Parents are the annotations of the owners above Owner.
	Parents []map[string]string
}

// Protected returns why a pod must not be moved, no matter how hot its node is, and the
// key or kind responsible; empty if it is not protected. more lists controllers that
// recreate their pods, in addition to those known under every policy.
func Protected(pod *v1.Pod, by Words, more []schema.GroupKind, now time.Time) (reason reasons.Reason, detail string) {
	if where := by.decline(pod); where != "" {
		return reasons.EvictionDeclined, where
	}
	if key := autoscalers(pod, now); key != "" {
		return reasons.DisruptionDeclined, key
	}
	for _, key := range background {
		if _, ok := pod.Annotations[key]; ok {
			return reasons.EvictedInBackground, key
		}
	}
	if key := groupOf(pod); key != "" {
		return reasons.PodGroupMember, key
	}
	return gone(pod, more)
}

// decline returns the annotation that forbids the eviction of a pod, and where
// it is.
func (w *Words) decline(pod *v1.Pod) string {
	if where := declines(pod.Annotations, "the pod"); where != "" {
		return where
	}
	if AnswerOf(pod.Annotations, deschedulerEvict) == No {
		return deschedulerEvict + " of the pod"
	}
	if where := declines(w.Owner, "its owner"); where != "" {
		return where
	}
	for _, parent := range w.Parents {
		if where := declines(parent, "its owner's owner"); where != "" {
			return where
		}
	}
	return declines(w.Namespace, "its Namespace")
}

func declines(annotations map[string]string, whose string) string {
	switch AnswerOf(annotations, EvictAnnotation) {
	case No:
		return EvictAnnotation + " of " + whose
	case Unreadable:
		return fmt.Sprintf("%s of %s: %.40q is neither true nor false", EvictAnnotation, whose, annotations[EvictAnnotation])
	case Yes, Unstated:
	}
	return ""
}

// autoscalers returns the annotation because of which an autoscaler would leave a pod
// alone. It interprets each annotation as that autoscaler does.
func autoscalers(pod *v1.Pod, now time.Time) string {
	switch {
	case pod.Annotations[safeToEvict] == "false":
		return safeToEvict
	case undisturbed(pod, now):
		return doNotDisrupt
	case pod.Annotations[doNotEvict] == "true":
		return doNotEvict
	}
	return ""
}

// undisturbed reports whether Karpenter would not disrupt a pod, in general or at the
// moment.
func undisturbed(pod *v1.Pod, now time.Time) bool {
	word := pod.Annotations[doNotDisrupt]
	if word == "" || word == "true" {
		return word != ""
	}
	span, err := time.ParseDuration(word)
	return err == nil && span > 0 && (pod.Status.StartTime == nil || now.Before(pod.Status.StartTime.Add(span)))
}

// groupOf returns the key or kind that makes a pod a member of a group.
func groupOf(pod *v1.Pod) string {
	if pod.Spec.SchedulingGroup != nil {
		return "spec.schedulingGroup"
	}
	for _, key := range groupKeys {
		if pod.Labels[key] != "" || pod.Annotations[key] != "" {
			return key
		}
	}
	return ""
}

// gone returns why an evicted pod would not be replaced.
func gone(pod *v1.Pod, more []schema.GroupKind) (reason reasons.Reason, detail string) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return reasons.NoController, ""
	}
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
	if !slices.Contains(recreating, kind) && !slices.Contains(more, kind) {
		return reasons.ControllerUnknown, kind.String()
	}
	// The API server defaults to Always; pods of Jobs always have another policy.
	if policy := pod.Spec.RestartPolicy; policy != "" && policy != v1.RestartPolicyAlways && kind != job {
		return reasons.RestartPolicyNotAlways, string(policy)
	}
	return "", ""
}
