package slim

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/cluster/names"
)

// strip removes from a pod the fields that nothing reads. It removes fields by name, so
// fields that this version does not know are kept.
func strip(pod *v1.Pod, words *pool, timeless bool) {
	pod.GenerateName, pod.SelfLink = "", "" //nolint:staticcheck // old servers fill it
	pod.Annotations = annotations(pod.Annotations)
	names.Remove(pod)
	stripSpec(&pod.Spec)
	stripStatus(&pod.Status, words, timeless)
}

// read holds the prefixes of the annotations that are read: those of the descheduler and
// Evenkeel, those that mark mirror and static pods, those with which a pod addresses
// autoscalers and controllers, and those that make it a member of a group.
var read = []string{
	"descheduler.alpha.kubernetes.io/", "evenkeel.io/", "kubernetes.io/config.",
	"cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/", v1.PodDeletionCost, batchv1.JobIndexFailureCountAnnotation,
	"scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name", "volcano.sh/job-name", "jobset.sigs.k8s.io/jobset-name",
	"yunikorn.apache.org/task-group-name", "gang.scheduling.koordinator.sh/name",
}

func annotations(all map[string]string) map[string]string {
	var kept map[string]string
	for key, value := range all {
		if !slices.ContainsFunc(read, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[key] = value
	}
	return kept
}

// stripSpec keeps the fields that determine where a pod may run and whether it may be
// moved.
func stripSpec(spec *v1.PodSpec) {
	spec.DeprecatedServiceAccount, spec.Subdomain = "", ""
	spec.AutomountServiceAccountToken, spec.EnableServiceLinks, spec.ShareProcessNamespace, spec.SetHostnameAsFQDN = nil, nil, nil, nil
	spec.ImagePullSecrets, spec.HostAliases, spec.DNSConfig = nil, nil, nil
	spec.Volumes = volumes(spec.Volumes)
	stripContainers(spec.InitContainers)
	stripContainers(spec.Containers)
}

// volumes drops volumes that every node can mount. Neither filters nor the protection of
// pods read them, and most pods have one with a unique name.
func volumes(all []v1.Volume) []v1.Volume {
	var kept []v1.Volume
	for i := range all {
		if v := &all[i]; v.ConfigMap == nil && v.Secret == nil && v.Projected == nil && v.DownwardAPI == nil {
			kept = append(kept, *v)
		}
	}
	return slices.Clip(kept)
}

// stripContainers keeps names, images, ports, resources and whatever else may
// restrict where a container runs. RemoveDuplicates compares images.
func stripContainers(containers []v1.Container) {
	for i := range containers {
		c := &containers[i]
		c.Command, c.Args, c.WorkingDir = nil, nil, ""
		c.Env, c.EnvFrom, c.VolumeMounts = nil, nil, nil
		c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle = nil, nil, nil, nil
		c.TerminationMessagePath, c.TerminationMessagePolicy, c.ImagePullPolicy = "", "", ""
	}
}

// stripStatus keeps phase, reason, times, claims, conditions and the states of
// containers.
func stripStatus(status *v1.PodStatus, words *pool, timeless bool) {
	status.Message = ""
	status.HostIP, status.HostIPs, status.PodIP, status.PodIPs = "", nil, "", nil
	status.Phase, status.QOSClass = one(words, status.Phase), one(words, status.QOSClass)
	status.Conditions = conditions(status.Conditions, words, status.StartTime, timeless)
	for _, statuses := range [][]v1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses} {
		stripStatuses(statuses, status.StartTime)
	}
}

// conditions keeps the fields that PodLifeTime can select by: type, status, reason and
// the time of the last transition. With timeless, the time is kept only for a pod that
// took long to become ready. The new slice has no spare capacity, unlike a decoded one.
func conditions(all []v1.PodCondition, words *pool, pod *metav1.Time, timeless bool) []v1.PodCondition {
	if len(all) == 0 {
		return nil
	}
	kept := make([]v1.PodCondition, len(all))
	for i := range all {
		c := &all[i]
		kept[i] = v1.PodCondition{Type: one(words, c.Type), Status: one(words, c.Status), Reason: c.Reason}
		slow := c.Type == v1.PodReady && pod != nil && c.LastTransitionTime.Sub(pod.Time) >= cluster.SlowStart
		if !timeless || slow {
			kept[i].LastTransitionTime = c.LastTransitionTime
		}
	}
	return kept
}

// stripStatuses keeps names, states, restarts, readiness and resources, which
// an in-place resize may have changed. A container's start time is kept only if
// the container did not start promptly after its pod, so that the containers of
// most replicas have equal states.
func stripStatuses(statuses []v1.ContainerStatus, pod *metav1.Time) {
	for i := range statuses {
		s := &statuses[i]
		s.Image, s.ImageID, s.ContainerID = "", "", ""
		s.VolumeMounts, s.User = nil, nil
		if r := s.State.Running; r != nil && (pod == nil || r.StartedAt.Sub(pod.Time) <= cluster.PromptStart) {
			s.State.Running = &running
		}
		stripState(&s.State)
		stripState(&s.LastTerminationState)
	}
}

// stripState keeps why a container waits and how it ended.
func stripState(state *v1.ContainerState) {
	if w := state.Waiting; w != nil {
		w.Message = ""
	}
	if t := state.Terminated; t != nil {
		t.Message, t.ContainerID = "", ""
		t.StartedAt = metav1.Time{}
	}
}

// running is the state of a running container without its start time.
var running v1.ContainerStateRunning
