package slim

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pairs are the rooms to compare the lists in that most pods have.
type pairs struct {
	owners      pair[metav1.OwnerReference]
	containers  pair[v1.Container]
	volumes     pair[v1.Volume]
	tolerations pair[v1.Toleration]
	statuses    pair[v1.ContainerStatus]
}

// Each of the functions below compares the fields that are usual in what it is
// given and empties them. What they do not know of is compared by reflection.

func usualOwner(a, b *metav1.OwnerReference) bool {
	equal := a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Name == b.Name && a.UID == b.UID &&
		equalPointees(a.Controller, b.Controller) && equalPointees(a.BlockOwnerDeletion, b.BlockOwnerDeletion)
	for _, o := range []*metav1.OwnerReference{a, b} {
		o.APIVersion, o.Kind, o.Name, o.UID, o.Controller, o.BlockOwnerDeletion = "", "", "", "", nil, nil
	}
	return equal
}

func usualContainer(a, b *v1.Container) bool {
	equal := a.Name == b.Name && a.Image == b.Image && slices.Equal(a.Ports, b.Ports) &&
		maps.Equal(a.Resources.Requests, b.Resources.Requests) && maps.Equal(a.Resources.Limits, b.Resources.Limits)
	for _, c := range []*v1.Container{a, b} {
		c.Name, c.Image, c.Ports, c.Resources.Requests, c.Resources.Limits = "", "", nil, nil, nil
	}
	return equal
}

func usualVolume(a, b *v1.Volume) bool {
	equal := a.Name == b.Name
	a.Name, b.Name = "", ""
	if x, y := a.EmptyDir, b.EmptyDir; x != nil && y != nil && *x == (v1.EmptyDirVolumeSource{Medium: y.Medium}) && *y == *x {
		a.EmptyDir, b.EmptyDir = nil, nil
	}
	return equal
}

func usualToleration(a, b *v1.Toleration) bool {
	equal := a.Key == b.Key && a.Operator == b.Operator && a.Value == b.Value && a.Effect == b.Effect &&
		equalPointees(a.TolerationSeconds, b.TolerationSeconds)
	for _, t := range []*v1.Toleration{a, b} {
		t.Key, t.Operator, t.Value, t.Effect, t.TolerationSeconds = "", "", "", "", nil
	}
	return equal
}

func usualStatus(a, b *v1.ContainerStatus) bool {
	equal := a.Name == b.Name && a.Ready == b.Ready && a.RestartCount == b.RestartCount && equalPointees(a.Started, b.Started) &&
		maps.Equal(a.AllocatedResources, b.AllocatedResources)
	if x, y := a.Resources, b.Resources; x != nil && y != nil && len(x.Claims)+len(y.Claims) == 0 {
		equal = equal && maps.Equal(x.Requests, y.Requests) && maps.Equal(x.Limits, y.Limits)
		a.Resources, b.Resources = nil, nil
	}
	if a.State.Running == &running && b.State.Running == &running {
		a.State.Running, b.State.Running = nil, nil
	}
	for _, s := range []*v1.ContainerStatus{a, b} {
		s.Name, s.Ready, s.RestartCount, s.Started, s.AllocatedResources = "", false, 0, nil, nil
	}
	return equal
}
