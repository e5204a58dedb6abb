package admission

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster/names"
	"github.com/evenkeel/evenkeel/ledger"
)

const (
	// strandedAfter is how long a pod may wait for the nodes to which it was restricted.
	strandedAfter = 20 * time.Second
	// releaseRetry is the pause after an attempt to release a stranded pod.
	releaseRetry = 10 * time.Second
)

// stranded reports whether none of the nodes to which the API server restricted a pod
// accepts it. Anyone who creates pods can make them look stranded, but only their own
// pods are then evicted.
func stranded(pod *v1.Pod) bool {
	return len(names.Of(pod)) > 0 && unschedulable(pod)
}

// restricts reports whether the key of a move may have restricted a pod: the pod's first
// node is the move's destination, and the pod was created while the move may have had a
// key, allowing for differences between clocks.
func restricts(move *ledger.Move, pod *v1.Pod) bool {
	nodes, came := names.Of(pod), pod.CreationTimestamp
	if len(nodes) == 0 || nodes[0] != move.To || came.Time.Before(move.Recorded.Add(-keyLasts)) {
		return false
	}
	return move.Ended.IsZero() || !came.After(move.Ended.Add(keyLasts))
}

// nominatedInVain reports whether no node accepts a pod that was released with a nomination. If the pod never preempts,
// kube-scheduler keeps the nomination, autoscalers count the pod as placed, and space stays reserved for it.
func nominatedInVain(pod *v1.Pod) bool {
	never := pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == v1.PreemptNever
	return never && pod.Status.NominatedNodeName != "" && pod.Annotations[names.Annotation] == names.Gate && unschedulable(pod)
}

// unschedulable reports whether kube-scheduler has found no node for a pod.
func unschedulable(pod *v1.Pod) bool {
	if pod.DeletionTimestamp != nil || pod.Spec.NodeName != "" {
		return false
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == v1.PodScheduled {
			return c.Status == v1.ConditionFalse && c.Reason == v1.PodReasonUnschedulable
		}
	}
	return false
}

// release evicts a stranded pod, so that its controller creates another one. It leaves a pod alone that has changed
// since. This is not a move, because the pod never ran.
func release(ctx context.Context, client kubernetes.Interface, pod *v1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	klog.FromContext(ctx).Info("Evicting a replacement that fits on none of its nodes, so that its controller creates another", "pod", klog.KObj(pod))
	err := client.CoreV1().Pods(pod.Namespace).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}},
	})
	if err != nil {
		return fmt.Errorf("evicting pod %q, which fits nowhere: %w", pod.Namespace+"/"+pod.Name, err)
	}
	return nil
}
