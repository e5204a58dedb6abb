package placement

import (
	"iter"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// maxRequestVariants is the maximum number of different requests to search in a group.
const maxRequestVariants = 8

func newGroup(pod *v1.Pod) *group {
	g := &group{namespace: pod.Namespace, labels: pod.Labels, affinity: podAffinity(pod)}
	if g.affinity != nil {
		// A term that does not parse is dropped, as in kube-scheduler's cache;
		// PreFilter refuses the pod itself.
		g.unreadable = g.terms.Update(pod) != nil
		g.terms.Pod = nil
	}
	return g
}

// podAffinity returns the pod's affinity if it refers to pods.
func podAffinity(pod *v1.Pod) *v1.Affinity {
	a := pod.Spec.Affinity
	if a == nil || (a.PodAffinity == nil && a.PodAntiAffinity == nil) {
		return nil
	}
	return a
}

func (g *group) holds(pod *v1.Pod) bool {
	return g.namespace == pod.Namespace && maps.Equal(g.labels, pod.Labels) && sameAffinity(g.affinity, podAffinity(pod))
}

func sameAffinity(a, b *v1.Affinity) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil {
		return false
	}
	return equality.Semantic.DeepEqual(a.PodAffinity, b.PodAffinity) &&
		equality.Semantic.DeepEqual(a.PodAntiAffinity, b.PodAntiAffinity)
}

// shareRequests returns the pod's requests as one value shared by all members
// with the same requests.
func (g *group) shareRequests(pod *v1.Pod) *fwk.PodResource {
	for i := range g.requests {
		if requestTogether(g.requests[i].of, pod) {
			return g.requests[i].PodResource
		}
	}
	own := (&framework.PodInfo{Pod: pod}).CalculateResource()
	for i := range g.requests {
		if r := &g.requests[i]; sameRequests(r.PodResource, &own) {
			r.of = pod
			return r.PodResource
		}
	}
	if len(g.requests) < maxRequestVariants {
		g.requests = append(g.requests, requests{&own, pod})
	}
	return &own
}

// requests are those of at least one member.
type requests struct {
	*fwk.PodResource

	of *v1.Pod
}

// requestTogether reports whether two pods share all fields from which requests are
// calculated, as the replicas in informers do. Comparing their contents would cost as much
// as calculating.
func requestTogether(a, b *v1.Pod) bool {
	return same(a.Spec.Containers, b.Spec.Containers) && same(a.Spec.InitContainers, b.Spec.InitContainers) &&
		len(a.Spec.Overhead)+len(b.Spec.Overhead) == 0 && a.Spec.Resources == b.Spec.Resources &&
		same(a.Status.ContainerStatuses, b.Status.ContainerStatuses) && same(a.Status.InitContainerStatuses, b.Status.InitContainerStatuses) &&
		same(a.Status.Conditions, b.Status.Conditions) && a.Status.Resources == b.Status.Resources &&
		len(a.Status.AllocatedResources)+len(b.Status.AllocatedResources) == 0 &&
		len(a.Status.NodeAllocatableResourceClaimStatuses)+len(b.Status.NodeAllocatableResourceClaimStatuses) == 0
}

// same reports whether two slices are one.
func same[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

func sameRequests(a, b *fwk.PodResource) bool {
	return a.Non0CPU == b.Non0CPU && a.Non0Mem == b.Non0Mem &&
		a.Resource.GetMilliCPU() == b.Resource.GetMilliCPU() &&
		a.Resource.GetMemory() == b.Resource.GetMemory() &&
		a.Resource.GetEphemeralStorage() == b.Resource.GetEphemeralStorage() &&
		maps.Equal(a.Resource.GetScalarResources(), b.Resource.GetScalarResources())
}

func (g *group) add(p *podEntry) {
	p.group, p.position = g, len(g.members)
	g.members = append(g.members, p)
}

func (g *group) remove(p *podEntry) {
	last := len(g.members) - 1
	moved := g.members[last]
	g.members[p.position], moved.position = moved, p.position
	g.members[last] = nil
	g.members = g.members[:last]
}

// countsAlike reports whether a newer version of the pod is in the same group and leaves
// its node's sums unchanged, for example because only its status has changed.
func (p *podEntry) countsAlike(newer *v1.Pod) bool {
	return p.group.holds(newer) && p.group.shareRequests(newer) == p.requests &&
		slices.Equal(util.GetHostPorts(p.pod), util.GetHostPorts(newer)) &&
		slices.Equal(slices.Collect(claimKeys(p.pod)), slices.Collect(claimKeys(newer))) &&
		len(p.pod.Status.NodeAllocatableResourceClaimStatuses)+len(newer.Status.NodeAllocatableResourceClaimStatuses) == 0
}

// claimKeys yields "namespace/name" of each claim in the pod's volumes.
func claimKeys(pod *v1.Pod) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range pod.Spec.Volumes {
			claim := pod.Spec.Volumes[i].PersistentVolumeClaim
			if claim != nil && !yield(framework.GetNamespacedName(pod.Namespace, claim.ClaimName)) {
				return
			}
		}
	}
}
