package placement

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
)

// sameSpec reports whether two shareable specs of pods in the same group are equal for
// the filters. Specs of one controller's pods usually share their parts, so most
// comparisons compare pointers.
func sameSpec(a, b *v1.PodSpec) bool {
	return sameOnNode(a, b) && sameSpread(a.TopologySpreadConstraints, b.TopologySpreadConstraints)
}

// sameOnNode reports whether two specs are equal for filters that read only one node.
func sameOnNode(a, b *v1.PodSpec) bool {
	return maps.Equal(a.NodeSelector, b.NodeSelector) &&
		sameNodeAffinity(a.Affinity, b.Affinity) &&
		slices.EqualFunc(a.Tolerations, b.Tolerations, func(x, y v1.Toleration) bool { return x.MatchToleration(&y) }) &&
		sameContainers(a.Containers, b.Containers) &&
		sameContainers(a.InitContainers, b.InitContainers) &&
		sameList(a.Overhead, b.Overhead) &&
		samePodResources(a.Resources, b.Resources) &&
		a.HostNetwork == b.HostNetwork &&
		samePointee(a.HostUsers, b.HostUsers)
}

func sameNodeAffinity(a, b *v1.Affinity) bool {
	if a == b {
		return true
	}
	var x, y *v1.NodeAffinity
	if a != nil {
		x = a.NodeAffinity
	}
	if b != nil {
		y = b.NodeAffinity
	}
	return x == y || equality.Semantic.DeepEqual(x, y)
}

func sameContainers(a, b []v1.Container) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	for i := range a {
		if !sameContainer(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

func sameContainer(a, b *v1.Container) bool {
	return samePointee(a.RestartPolicy, b.RestartPolicy) &&
		equality.Semantic.DeepEqual(a.RestartPolicyRules, b.RestartPolicyRules) &&
		slices.Equal(a.Ports, b.Ports) &&
		sameList(a.Resources.Requests, b.Resources.Requests)
}

func samePointee[T comparable](a, b *T) bool {
	return a == b || (a != nil && b != nil && *a == *b)
}

func samePodResources(a, b *v1.ResourceRequirements) bool {
	if a == nil || b == nil {
		return a == b
	}
	return sameList(a.Requests, b.Requests)
}

func sameList(a, b v1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}

func sameSpread(a, b []v1.TopologySpreadConstraint) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || equality.Semantic.DeepEqual(a, b)
}
