package evictor

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/evenkeel/evenkeel/safeguards"
)

// Waiting implements Cluster.
func (w *Watched) Waiting() (waiting []safeguards.Waiting) {
	pods, err := w.factory.Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil {
		return nil // the lister reads a cache and has no error
	}
	nodes, err := w.factory.Core().V1().Nodes().Lister().List(labels.Everything())
	if err != nil {
		return nil
	}
	// The pods of one owner ask for the same, but for those of a DaemonSet, each
	// of which asks for its own node.
	possible := map[safeguards.Whose]bool{}
	for _, pod := range pods {
		if !unschedulable(pod) {
			continue
		}
		of, daemon := whose(pod)
		fits, known := possible[of]
		if !known || daemon {
			fits = len(nodes) == 0 || takenByOne(nodes, pod)
			possible[of] = fits
		}
		if fits {
			waiting = append(waiting, safeguards.Waiting{Whose: of, Name: pod.Name, Since: pod.CreationTimestamp.Time})
		}
	}
	return waiting
}

func unschedulable(pod *v1.Pod) bool {
	if pod.Spec.NodeName != "" || podutil.IsPodTerminal(pod) {
		return false
	}
	_, c := podutil.GetPodCondition(&pod.Status, v1.PodScheduled)
	return c != nil && c.Reason == v1.PodReasonUnschedulable
}

func whose(pod *v1.Pod) (of safeguards.Whose, daemon bool) {
	of.Namespace = pod.Namespace
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		of.OwnerUID, daemon = string(ref.UID), ref.Kind == "DaemonSet"
	}
	return of, daemon || of.OwnerUID == ""
}

// takenByOne reports whether a node could take a pod if nothing else ran there.
func takenByOne(nodes []*v1.Node, pod *v1.Pod) bool {
	affinity, requests := nodeaffinity.GetRequiredNodeAffinity(pod), resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	for _, node := range nodes {
		if matches, err := affinity.Match(node); (err != nil || matches) && holds(node, requests) {
			return true
		}
	}
	return false
}

func holds(node *v1.Node, requests v1.ResourceList) bool {
	for name, quantity := range requests {
		if allocatable := node.Status.Allocatable[name]; !quantity.IsZero() && quantity.Cmp(allocatable) > 0 {
			return false
		}
	}
	return true
}
