package placement

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

// revision identifies pods that a controller has created from one template.
type revision struct {
	namespace, hash string
	controller      types.UID
}

func revisionOf(pod *v1.Pod) (of revision, ok bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return revision{}, false
	}
	hash := pod.Labels["pod-template-hash"]
	switch owner.Kind {
	case "StatefulSet":
		hash = pod.Labels["controller-revision-hash"]
	case "ReplicaSet", "ReplicationController", "Job":
	default: // such controllers may create pods from several templates at the same time
		return revision{}, false
	}
	return revision{pod.Namespace, hash, owner.UID}, true
}

// firstGeneration is the generation of a pod whose spec was never changed. Before
// Kubernetes 1.33, pods have no generation.
const firstGeneration = 1

// asCreated holds, for each revision, the youngest pod whose spec was never changed. Such
// a pod shows the resources that the controller's pods have when they are created. The
// controller's template may not show them, because admission can change resources.
type asCreated map[revision]*v1.Pod

func newAsCreated(s *snapshot) asCreated {
	found := asCreated{}
	for _, p := range s.pods {
		found.learn(p.pod)
	}
	return found
}

func (a asCreated) learn(pod *v1.Pod) {
	of, ok := revisionOf(pod)
	if !ok || pod.Generation != firstGeneration {
		return
	}
	if best := a[of]; best == nil || younger(pod, best) {
		a[of] = pod
	}
}

// BeforeResize returns a pod as its replacement will be created, as far as its siblings
// reveal that.
func BeforeResize(pod *v1.Pod, siblings func(*v1.Pod) []*v1.Pod) *v1.Pod {
	if pod.Generation <= firstGeneration {
		return pod
	}
	found := asCreated{}
	for _, sibling := range siblings(pod) {
		found.learn(sibling)
	}
	return found.before(pod)
}

// before returns a pod as it was before it was resized in place, as far as its siblings
// reveal that. The replacement will be created without the resize.
func (a asCreated) before(pod *v1.Pod) *v1.Pod {
	of, ok := revisionOf(pod)
	like := a[of]
	if !ok || like == nil {
		return pod
	}
	created := &v1.Pod{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec, Status: pod.Status}
	created.Spec.Resources = like.Spec.Resources
	created.Spec.Containers = withResources(pod.Spec.Containers, like.Spec.Containers)
	created.Spec.InitContainers = withResources(pod.Spec.InitContainers, like.Spec.InitContainers)
	return created
}

func younger(a, b *v1.Pod) bool {
	if order := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); order != 0 {
		return order > 0
	}
	return a.Name < b.Name
}

// withResources returns containers with the resources of the containers of the
// same name in like.
func withResources(containers, like []v1.Container) []v1.Container {
	all := slices.Clone(containers)
	for i := range all {
		for j := range like {
			if like[j].Name == all[i].Name {
				all[i].Resources = like[j].Resources
			}
		}
	}
	return all
}

// requestsAnew returns the requests of a replacement. They equal the pod's unless the
// pod's status contains a resize or claims, because the replacement starts without these.
func (p *podEntry) requestsAnew(replacement *v1.Pod) *fwk.PodResource {
	status := &p.pod.Status
	if p.pod.Generation <= firstGeneration && status.Resources == nil && len(status.NodeAllocatableResourceClaimStatuses) == 0 &&
		len(p.pod.Spec.InitContainers) == 0 && asSpecified(p.pod.Spec.Containers, status.ContainerStatuses) {
		return p.requests
	}
	return p.group.shareRequests(replacement)
}

// asSpecified reports whether containers run with the resources that they
// request.
func asSpecified(containers []v1.Container, statuses []v1.ContainerStatus) bool {
	for i := range statuses {
		s := &statuses[i]
		if s.Resources == nil && s.AllocatedResources == nil {
			continue
		}
		k := slices.IndexFunc(containers, func(c v1.Container) bool { return c.Name == s.Name })
		if k < 0 || !sameAmounts(s.AllocatedResources, containers[k].Resources.Requests) ||
			s.Resources != nil && !sameAmounts(s.Resources.Requests, containers[k].Resources.Requests) {
			return false
		}
	}
	return true
}

func sameAmounts(a, b v1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}
