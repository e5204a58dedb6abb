package evictor

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/descheduler/pkg/utils"

	"github.com/evenkeel/evenkeel/reasons"
)

// emptied refuses the pods of a node that something else is emptying.
func (q *question) emptied(context.Context) ruling {
	if q.candidate.Leaving != "" {
		return refusing(reasons.NodeLeaving)
	}
	return ruling{}
}

// static refuses static pods, which a kubelet runs without the API server.
func (q *question) static(context.Context) ruling {
	if utils.IsMirrorPod(q.pod) || isStatic(q.pod) {
		return refusing(reasons.MirrorPod)
	}
	return ruling{}
}

// isStatic is like upstream's IsStaticPod, but does not allocate an error for each pod
// without the source annotation.
func isStatic(pod *v1.Pod) bool {
	source, ok := pod.Annotations[configSource]
	return ok && source != "api"
}

// configSource is the annotation in which a kubelet states a pod's source.
const configSource = "kubernetes.io/config.source"

// ofDaemonSet refuses pods that would come back to the same node.
func (q *question) ofDaemonSet(context.Context) ruling {
	if q.candidate.Record.Owner.Kind == "DaemonSet" {
		return refusing(reasons.DaemonSetPod)
	}
	return ruling{}
}

// uncontrolled refuses pods that nothing would create again.
func (q *question) uncontrolled(context.Context) ruling {
	if q.candidate.Record.Owner.UID == "" {
		return refusing(reasons.NoController)
	}
	return ruling{}
}

// ofJob refuses pods of Jobs unless the policy allows evicting them.
func (q *question) ofJob(context.Context) ruling {
	if q.candidate.Record.Owner.Kind == "Job" && !q.e.config.Settings.EvictJobs && !foreign(q.pod) {
		return refusing(reasons.JobPod)
	}
	return ruling{}
}

// foreign reports whether a pod's controller is a custom resource. Volcano's Job, for
// example, must be among the policy's recreatingControllers, or it is not moved at all.
func foreign(pod *v1.Pod) bool {
	ref := metav1.GetControllerOfNoCopy(pod)
	return ref != nil && strings.Contains(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).Group, ".")
}

// scheduledByOthers refuses pods whose replacements would be placed by a scheduler that
// does not ask Evenkeel.
func (q *question) scheduledByOthers(context.Context) ruling {
	if !slices.Contains(q.e.config.Settings.SchedulerNames, q.pod.Spec.SchedulerName) {
		return refusing(reasons.SchedulerNotSteered)
	}
	return ruling{}
}

// spared refuses pods of namespaces that the strategy's arguments exclude.
func (q *question) spared(context.Context) ruling {
	if q.profile.Spares(q.pod.Namespace) {
		return refusing(reasons.NamespaceExcluded)
	}
	return ruling{}
}

// unread refuses pods whose usage is unknown or not yet typical.
func (q *question) unread(context.Context) ruling {
	switch read := q.candidate.Read; {
	case q.profile.Hosted:
	case read.Starting:
		return refusing(reasons.PodStarting)
	case !read.Measured:
		return refusing(reasons.PodUsageUnknown)
	}
	return ruling{}
}
