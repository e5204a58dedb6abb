package app

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// owners knows the controllers of pods: how many replicas they want, and whether they are in the middle of something that a
// move would disturb.
type owners struct {
	replicaSets  appslisters.ReplicaSetLister
	statefulSets appslisters.StatefulSetLister
	budgets      evictor.Budgets
	ledger       *ledger.Ledger
	settle       func() time.Duration
	now          func() time.Time

	mu     sync.Mutex
	scaled map[types.UID]time.Time // when the number of replicas was last seen to change
}

func newOwners(
	factory informers.SharedInformerFactory, moves *ledger.Ledger, settle func() time.Duration, now func() time.Time,
) (*owners, error) {
	o := &owners{
		replicaSets:  factory.Apps().V1().ReplicaSets().Lister(),
		statefulSets: factory.Apps().V1().StatefulSets().Lister(),
		ledger:       moves,
		settle:       settle,
		now:          now,
		scaled:       map[types.UID]time.Time{},
	}
	handler := cache.ResourceEventHandlerFuncs{UpdateFunc: o.updated, DeleteFunc: o.deleted}
	if _, err := factory.Apps().V1().ReplicaSets().Informer().AddEventHandler(handler); err != nil {
		return nil, fmt.Errorf("watching ReplicaSets: %w", err)
	}
	if _, err := factory.Apps().V1().StatefulSets().Informer().AddEventHandler(handler); err != nil {
		return nil, fmt.Errorf("watching StatefulSets: %w", err)
	}
	return o, nil
}

// updated notes a change of scale. An owner that wants fewer pods replaces as many fewer of those that were evicted.
func (o *owners) updated(before, after any) {
	fewer := wanted(before) - wanted(after)
	if fewer == 0 {
		return
	}
	uid := after.(metav1.Object).GetUID() //nolint:forcetypeassert // informers deliver API objects
	o.ledger.CancelOwner(string(uid), fewer, o.now())
	o.mu.Lock()
	defer o.mu.Unlock()
	o.scaled[uid] = o.now()
}

func (o *owners) deleted(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if deleted, ok := object.(metav1.Object); ok {
		o.ledger.CancelOwner(string(deleted.GetUID()), math.MaxInt, o.now())
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.scaled, deleted.GetUID())
	}
}

func wanted(object any) int {
	var replicas *int32
	switch owner := object.(type) {
	case *appsv1.ReplicaSet:
		replicas = owner.Spec.Replicas
	case *appsv1.StatefulSet:
		replicas = owner.Spec.Replicas
	}
	if replicas == nil {
		return 1 // the API's default
	}
	return int(*replicas)
}

// replicas returns how many pods a pod's owner wants, 0 when that is not known.
func (o *owners) replicas(pod *v1.Pod) int {
	if owner := o.of(pod); owner != nil {
		return wanted(owner)
	}
	return 0
}

// of returns a pod's ReplicaSet or StatefulSet, nil for any other owner or one that is not known.
func (o *owners) of(pod *v1.Pod) metav1.Object {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil {
		return nil
	}
	switch ref.Kind {
	case "ReplicaSet":
		if set, err := o.replicaSets.ReplicaSets(pod.Namespace).Get(ref.Name); err == nil && set.UID == ref.UID {
			return set
		}
	case "StatefulSet":
		if set, err := o.statefulSets.StatefulSets(pod.Namespace).Get(ref.Name); err == nil && set.UID == ref.UID {
			return set
		}
	}
	return nil
}

// refuse says why a pod may not be moved, as far as its owner and its budgets go.
func (o *owners) refuse(pod *v1.Pod) reasons.Reason {
	switch budgets := o.budgets.Of(pod); {
	case len(budgets) > 1:
		return reasons.SeveralPodDisruptionBudgets
	case len(budgets) == 1 && evictor.Never(budgets[0]) && (!o.surges(pod) || evictor.NeverWithSurge(budgets[0])):
		return reasons.PodDisruptionBudgetForbids
	}
	switch owner := o.of(pod).(type) {
	case *appsv1.ReplicaSet:
		if rollingReplicaSet(owner) {
			return reasons.OwnerRollingOut
		}
		if missed(pod, owner, owner.Status.ReadyReplicas) {
			return reasons.LastReadyReplica
		}
		return o.unsettled(owner)
	case *appsv1.StatefulSet:
		if s := owner.Status; s.CurrentRevision != s.UpdateRevision || s.ObservedGeneration < owner.Generation {
			return reasons.OwnerRollingOut
		}
		if missed(pod, owner, owner.Status.ReadyReplicas) {
			return reasons.LastReadyReplica
		}
		return o.unsettled(owner)
	}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil && (ref.Kind == "ReplicaSet" || ref.Kind == "StatefulSet") {
		return reasons.OwnerUnknown
	}
	return "" // a controller of another kind: whether it recreates its pods is its users' knowledge
}

// missed reports whether a pod is the last ready one of an owner that wants several,
// by how many its controller has counted.
func missed(pod *v1.Pod, owner metav1.Object, ready int32) bool {
	return wanted(owner) > 1 && ready <= 1 && podutil.IsPodReady(pod)
}

// lastReady reports the same by the pods themselves: others are those of its namespace,
// and gone reports whether one is on its way out though the watch has not told yet.
func (o *owners) lastReady(pod *v1.Pod, others []*v1.Pod, gone func(podUID string) bool) bool {
	owner := o.of(pod)
	if owner == nil {
		return false
	}
	return missed(pod, owner, 1) && !slices.ContainsFunc(others, func(other *v1.Pod) bool {
		return other.UID != pod.UID && metav1.IsControlledBy(other, owner) && other.DeletionTimestamp == nil &&
			podutil.IsPodReady(other) && !gone(string(other.UID))
	})
}

// rollingReplicaSet says whether a ReplicaSet's Deployment is replacing it or being scaled: the Deployment controller
// notes on each ReplicaSet how many replicas the whole Deployment wants.
func rollingReplicaSet(set *appsv1.ReplicaSet) bool {
	if set.Status.ObservedGeneration < set.Generation || int(set.Status.Replicas) != wanted(set) {
		return true
	}
	desired, err := strconv.Atoi(set.Annotations["deployment.kubernetes.io/desired-replicas"])
	return err == nil && desired != wanted(set)
}

func (o *owners) unsettled(owner metav1.Object) reasons.Reason {
	now := o.now()
	if now.Sub(owner.GetCreationTimestamp().Time) < o.settle() {
		return reasons.OwnerRollingOut
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if scaled, ok := o.scaled[owner.GetUID()]; ok && now.Sub(scaled) < o.settle() {
		return reasons.OwnerJustScaled
	}
	return ""
}

// preferNoEviction is upstream's annotation for pods that should be moved last.
const preferNoEviction = "descheduler.alpha.kubernetes.io/prefer-no-eviction"

// disruption orders pods of one priority: first those that do not ask to be left, then those whose budget has room, then by
// quality of service, then those whose owner has many others.
func (o *owners) disruption(pod *v1.Pod) int64 {
	var cost int64
	if _, asks := pod.Annotations[preferNoEviction]; asks {
		cost += 1 << 40
	}
	for _, budget := range o.budgets.Of(pod) {
		if budget.Status.DisruptionsAllowed <= 0 {
			cost += 1 << 32
		}
	}
	switch pod.Status.QOSClass {
	case v1.PodQOSGuaranteed:
		cost += 2 << 24
	case v1.PodQOSBurstable:
		cost += 1 << 24
	case v1.PodQOSBestEffort:
	}
	return cost + 1000/int64(max(o.replicas(pod), 1))
}
