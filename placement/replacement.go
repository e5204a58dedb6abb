package placement

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// replacementOf returns the pod that the controller will create instead of this one, as
// kube-scheduler will see it: without any changes made after the old pod was created.
func replacementOf(pod *v1.Pod) *v1.Pod {
	r := &v1.Pod{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
	r.UID = pod.UID + "-replacement"
	if !isStateful(pod) {
		r.Name = pod.Name + "-replacement"
	}
	r.ResourceVersion = ""
	r.DeletionTimestamp, r.DeletionGracePeriodSeconds = nil, nil
	r.Spec.NodeName = ""
	r.Spec.SchedulingGates = nil
	return r
}

// isStateful reports whether the controller recreates the pod only after the old one is
// gone.
func isStateful(pod *v1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "StatefulSet"
}

// isShareable reports whether pods with an equal spec get equal results. Pods
// with their own volumes or claims do not.
func isShareable(spec *v1.PodSpec, dynamicResources bool) bool {
	if len(spec.ResourceClaims) > 0 {
		return false
	}
	for i := range spec.Volumes {
		if !isPlain(&spec.Volumes[i].VolumeSource) {
			return false
		}
	}
	// With DynamicResources, a device class may provide an extended resource.
	return !dynamicResources || !requestsExtended(spec)
}

// isPlain reports whether no filter reads volumes of this kind.
func isPlain(v *v1.VolumeSource) bool {
	return v.ConfigMap != nil || v.Secret != nil || v.Projected != nil || v.DownwardAPI != nil ||
		v.EmptyDir != nil || v.HostPath != nil || v.NFS != nil || v.Image != nil
}

func requestsExtended(spec *v1.PodSpec) bool {
	for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for name := range containers[i].Resources.Requests {
				if strings.Contains(string(name), "/") {
					return true
				}
			}
		}
	}
	return false
}
