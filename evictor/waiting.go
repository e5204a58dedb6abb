package evictor

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	resourcehelper "k8s.io/component-helpers/resource"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/evenkeel/evenkeel/evictor/safeguards"
)

// Waiting implements Cluster.
func (w *Watched) Waiting() (waiting []safeguards.Waiting) {
	pods, err := w.factory.Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil {
		return nil // the lister reads a cache and returns no error
	}
	pods = slices.DeleteFunc(pods, func(pod *v1.Pod) bool { return !unschedulable(pod) })
	if len(pods) == 0 {
		return nil
	}
	objects, err := w.factory.Core().V1().Nodes().Lister().List(labels.Everything())
	if err != nil {
		return nil
	}
	nodes := make([]offer, len(objects))
	for i, node := range objects {
		nodes[i] = w.offered(node)
	}
	// The pods of one owner have the same requirements, except the pods of a DaemonSet,
	// each of which requires its own node.
	possible, spent := map[safeguards.Whose]bool{}, map[string]*effort{}
	for _, pod := range pods {
		of, daemon := whose(pod)
		fits, known := possible[of]
		if !known || daemon {
			if spent[of.Namespace] == nil {
				spent[of.Namespace] = new(effort)
			}
			fits = len(nodes) == 0 || spent[of.Namespace].takenByOne(nodes, pod)
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

// maxEffort limits the work for the pods of one namespace in a check to about ten
// milliseconds. That is enough for hundreds of ordinary pods that none of 5,000 nodes
// accepts, and for many more pods that some node accepts. byItself is the fixed cost of a
// pod, as a number of nodes.
const (
	maxEffort = 2_000_000
	byItself  = 50
)

// effort is the work done for the pods of a namespace. Once it reaches maxEffort, the
// namespace's remaining pods count as pods that no node takes, because otherwise anyone
// who creates pods could delay every check.
type effort int

// spend reports whether there is enough effort left.
func (e *effort) spend(much int) bool {
	*e += effort(much)
	return *e <= maxEffort
}

// takenByOne reports whether any node could take a pod if nothing else ran there.
func (e *effort) takenByOne(nodes []offer, pod *v1.Pod) bool {
	if !e.spend(0) {
		return false
	}
	asked := asks(pod)
	if !e.spend(byItself * asked) {
		return false
	}
	affinity, requests := nodeaffinity.GetRequiredNodeAffinity(pod), resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	for _, offer := range nodes {
		if !e.spend(asked) {
			return false
		}
		if matches, err := affinity.Match(offer.Node); (err != nil || matches) && tolerates(pod, offer.reserved) && holds(offer.Node, requests) {
			return true
		}
	}
	return false
}

// asks returns the number of a pod's properties that are compared with a node.
func asks(pod *v1.Pod) int {
	spec := &pod.Spec
	n := 1 + len(spec.NodeSelector) + len(spec.Tolerations) + len(spec.Overhead)
	for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			n += len(containers[i].Resources.Requests)
		}
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return n
	}
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		n++
		for _, expressions := range [][]v1.NodeSelectorRequirement{term.MatchExpressions, term.MatchFields} {
			for i := range expressions {
				n += 1 + len(expressions[i].Values)
			}
		}
	}
	return n
}

// offer is a node that is treated as if it were empty, ready and permanent.
type offer struct {
	*v1.Node
	reserved []v1.Taint
}

// offered returns the offer of a node. It leaves out temporary taints, because a pod also
// waits for a node if the only suitable nodes are cordoned, not ready or being removed.
func (w *Watched) offered(node *v1.Node) offer {
	o, rule := offer{Node: node}, w.taints.Load()
	for _, taint := range node.Spec.Taints {
		hard := taint.Effect == v1.TaintEffectNoSchedule || taint.Effect == v1.TaintEffectNoExecute
		if hard && !rule.Passes(taint.Key) {
			o.reserved = append(o.reserved, taint)
		}
	}
	return o
}

func tolerates(pod *v1.Pod, taints []v1.Taint) bool {
	_, repelled := corev1helpers.FindMatchingUntoleratedTaint(klog.Background(), taints, pod.Spec.Tolerations, nil, true)
	return !repelled
}

func holds(node *v1.Node, requests v1.ResourceList) bool {
	for name, quantity := range requests {
		if allocatable := node.Status.Allocatable[name]; !quantity.IsZero() && quantity.Cmp(allocatable) > 0 {
			return false
		}
	}
	return true
}
