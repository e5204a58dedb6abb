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
	// strandedAfter is how long a pod may wait for the nodes that it was
	// restricted to.
	strandedAfter = 20 * time.Second
	// releaseRetry is the pause after an attempt to release one.
	releaseRetry = 10 * time.Second
)

// stranded reports whether none of the nodes that the API server restricted a
// pod to takes it. Whoever creates pods can have it look so, and loses them.
func stranded(pod *v1.Pod) bool {
	return len(names.Of(pod)) > 0 && unschedulable(pod)
}

// restricts reports whether a pod may have been restricted by the key of a move:
// its first node is the move's, and it came while that can have had a key, as
// far as clocks agree.
func restricts(move *ledger.Move, pod *v1.Pod) bool {
	nodes, came := names.Of(pod), pod.CreationTimestamp
	if len(nodes) == 0 || nodes[0] != move.To || came.Time.Before(move.Recorded.Add(-keyLasts)) {
		return false
	}
	return move.Ended.IsZero() || !came.After(move.Ended.Add(keyLasts))
}

// nominatedInVain reports whether no node takes a pod that was let go with a
// nomination, which kube-scheduler leaves as it is where a pod never preempts.
// Autoscalers count such a pod as placed, and room stays reserved for it.
func nominatedInVain(pod *v1.Pod) bool {
	never := pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy == v1.PreemptNever
	return never && pod.Status.NominatedNodeName != "" && pod.Annotations[names.Annotation] == names.Gate && unschedulable(pod)
}

// unschedulable reports whether kube-scheduler has tried a pod in vain.
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

// release evicts a stranded pod, so that its controller creates another. One
// that has changed since stays. It is no move: the pod never ran.
func release(ctx context.Context, client kubernetes.Interface, pod *v1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	klog.FromContext(ctx).Info("A replacement that fits on none of its nodes is evicted, so that another comes", "pod", klog.KObj(pod))
	err := client.CoreV1().Pods(pod.Namespace).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion}},
	})
	if err != nil {
		return fmt.Errorf("evicting pod %q, which fits nowhere: %w", pod.Namespace+"/"+pod.Name, err)
	}
	return nil
}
