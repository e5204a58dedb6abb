package slim

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// template tells the revisions of one owner apart. A Job's pods have the Job
// alone.
type template struct {
	owner types.UID
	hash  string
}

// templates remember what the pods of a template last looked like.
type templates struct {
	mu   sync.Mutex
	last map[template]*v1.Pod
	room pairs
}

// share gives a pod what it has in common with the pod of its template that
// came before it, part by part: pods of one template differ in some parts and
// are equal in the others.
func (t *templates) share(pod *v1.Pod) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return
	}
	key := template{owner: owner.UID, hash: hash(pod.Labels)}
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.last[key]
	if last == nil {
		if len(t.last) >= mostTemplates || t.last == nil {
			t.last = map[template]*v1.Pod{}
		}
		last = &v1.Pod{}
		t.last[template{owner: types.UID(string(owner.UID)), hash: key.hash}] = last
	}
	t.room.shareMeta(&pod.ObjectMeta, &last.ObjectMeta)
	t.room.shareSpec(&pod.Spec, &last.Spec)
	t.room.shareStatus(&pod.Status, &last.Status)
}

func hash(labels map[string]string) string {
	if of, ok := labels["pod-template-hash"]; ok {
		return of
	}
	return labels["controller-revision-hash"]
}

func (p *pairs) shareMeta(pod, last *metav1.ObjectMeta) {
	shareWord(&pod.Namespace, &last.Namespace)
	shareWords(&pod.Labels, &last.Labels)
	shareWords(&pod.Annotations, &last.Annotations)
	shareMost(&pod.OwnerReferences, &last.OwnerReferences, &p.owners, usualOwner)
	shareList(&pod.Finalizers, &last.Finalizers)
}

func (p *pairs) shareSpec(pod, last *v1.PodSpec) {
	shareMost(&pod.Volumes, &last.Volumes, &p.volumes, usualVolume)
	shareMost(&pod.InitContainers, &last.InitContainers, &p.containers, usualContainer)
	shareMost(&pod.Containers, &last.Containers, &p.containers, usualContainer)
	shareWord(&pod.RestartPolicy, &last.RestartPolicy)
	shareValue(&pod.TerminationGracePeriodSeconds, &last.TerminationGracePeriodSeconds)
	shareValue(&pod.ActiveDeadlineSeconds, &last.ActiveDeadlineSeconds)
	shareWord(&pod.DNSPolicy, &last.DNSPolicy)
	shareWords(&pod.NodeSelector, &last.NodeSelector)
	shareWord(&pod.ServiceAccountName, &last.ServiceAccountName)
	shareOne(&pod.SecurityContext, &last.SecurityContext)
	shareOne(&pod.Affinity, &last.Affinity)
	shareWord(&pod.SchedulerName, &last.SchedulerName)
	shareMost(&pod.Tolerations, &last.Tolerations, &p.tolerations, usualToleration)
	shareWord(&pod.PriorityClassName, &last.PriorityClassName)
	shareValue(&pod.Priority, &last.Priority)
	shareList(&pod.ReadinessGates, &last.ReadinessGates)
	shareValue(&pod.RuntimeClassName, &last.RuntimeClassName)
	shareValue(&pod.PreemptionPolicy, &last.PreemptionPolicy)
	shareAmounts(&pod.Overhead, &last.Overhead)
	shareList(&pod.TopologySpreadConstraints, &last.TopologySpreadConstraints)
	shareValue(&pod.OS, &last.OS)
	shareList(&pod.ResourceClaims, &last.ResourceClaims)
	shareOne(&pod.Resources, &last.Resources)
}

func (p *pairs) shareStatus(pod, last *v1.PodStatus) {
	pod.Phase, pod.QOSClass = known(pod.Phase), known(pod.QOSClass)
	shareEqual(&pod.Conditions, &last.Conditions)
	shareMost(&pod.InitContainerStatuses, &last.InitContainerStatuses, &p.statuses, usualStatus)
	shareMost(&pod.ContainerStatuses, &last.ContainerStatuses, &p.statuses, usualStatus)
	shareOne(&pod.Resources, &last.Resources)
	shareAmounts(&pod.AllocatedResources, &last.AllocatedResources)
}
