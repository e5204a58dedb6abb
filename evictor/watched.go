package evictor

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/cache"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/placement"
)

// Watched is the Cluster from informers. It lasts as long as the process.
type Watched struct {
	factory informers.SharedInformerFactory
	ledger  *ledger.Ledger
	clock   Clock

	// The fields up to mu are nil until WatchOwners.
	replicaSets  appslisters.ReplicaSetLister
	statefulSets appslisters.StatefulSetLister
	budgets      policylisters.PodDisruptionBudgetLister
	filters      *placement.Filters

	mu     sync.Mutex
	scaled map[types.UID]time.Time // when the number of replicas was last seen to change
}

var _ Cluster = (*Watched)(nil)

// NewWatched returns a Watched over informers that the caller starts.
func NewWatched(factory informers.SharedInformerFactory, moves *ledger.Ledger, clock Clock) *Watched {
	return &Watched{factory: factory, ledger: moves, clock: clock, scaled: map[types.UID]time.Time{}}
}

// WatchOwners requests what planned moves need besides the pods: owners,
// budgets and kube-scheduler's filters. Upstream's plugins need none of it. It
// may be called more than once.
func (w *Watched) WatchOwners(filters *placement.Filters) error {
	if w.filters != nil {
		return nil
	}
	apps := w.factory.Apps().V1()
	handler := cache.ResourceEventHandlerFuncs{UpdateFunc: w.updated, DeleteFunc: w.deleted}
	if _, err := apps.ReplicaSets().Informer().AddEventHandler(handler); err != nil {
		return fmt.Errorf("watching ReplicaSets: %w", err)
	}
	if _, err := apps.StatefulSets().Informer().AddEventHandler(handler); err != nil {
		return fmt.Errorf("watching StatefulSets: %w", err)
	}
	w.replicaSets, w.statefulSets = apps.ReplicaSets().Lister(), apps.StatefulSets().Lister()
	w.budgets = w.factory.Policy().V1().PodDisruptionBudgets().Lister()
	w.filters = filters
	return nil
}

// Pod implements Cluster.
func (w *Watched) Pod(namespace, name string) *v1.Pod {
	pod, err := w.factory.Core().V1().Pods().Lister().Pods(namespace).Get(name)
	if err != nil {
		return nil
	}
	return pod
}

// Siblings implements Cluster.
func (w *Watched) Siblings(pod *v1.Pod) ([]*v1.Pod, error) {
	return w.factory.Core().V1().Pods().Lister().Pods(pod.Namespace).List(labels.Everything())
}

// Budgets implements Cluster.
func (w *Watched) Budgets(pod *v1.Pod) []*policyv1.PodDisruptionBudget {
	if w.budgets == nil {
		return nil
	}
	selecting, err := w.budgets.GetPodPodDisruptionBudgets(pod)
	if err != nil {
		return nil // none selects it: the lister reads a cache and has no other error
	}
	return selecting
}

// Replacement implements Cluster.
func (w *Watched) Replacement(move *ledger.Move) ledger.Replacement {
	pod := w.Pod(move.Namespace, move.ReplacementName)
	if pod == nil || string(pod.UID) != move.Replacement {
		return ledger.Replacement{}
	}
	r := ledger.Replacement{Exists: true, Ready: podutil.IsPodReady(pod), Terminating: pod.DeletionTimestamp != nil}
	for i := range pod.Status.ContainerStatuses {
		r.Restarts += int(pod.Status.ContainerStatuses[i].RestartCount)
	}
	return r
}

// Session implements Cluster.
func (w *Watched) Session(context.Context) (*placement.Session, error) {
	nodes, err := w.factory.Core().V1().Nodes().Lister().List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	pods, err := w.factory.Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	if err := w.filters.Sync(nodes, pods); err != nil {
		return nil, fmt.Errorf("bringing the filters up to date: %w", err)
	}
	return w.filters.Begin(), nil
}

// Owner implements Cluster.
func (w *Watched) Owner(pod *v1.Pod) Owner {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || w.replicaSets == nil {
		return Owner{}
	}
	switch ref.Kind {
	case "ReplicaSet":
		if set, err := w.replicaSets.ReplicaSets(pod.Namespace).Get(ref.Name); err == nil && set.UID == ref.UID {
			return w.withScale(set, ofReplicaSet(set))
		}
		return Owner{Missing: true}
	case "StatefulSet":
		if set, err := w.statefulSets.StatefulSets(pod.Namespace).Get(ref.Name); err == nil && set.UID == ref.UID {
			return w.withScale(set, ofStatefulSet(set))
		}
		return Owner{Missing: true}
	}
	return Owner{}
}

func (w *Watched) withScale(object metav1.Object, o Owner) Owner {
	w.mu.Lock()
	defer w.mu.Unlock()
	o.UID, o.Replicas, o.Created = string(object.GetUID()), wanted(object), object.GetCreationTimestamp().Time
	o.Scaled = w.scaled[object.GetUID()]
	return o
}

func ofReplicaSet(set *appsv1.ReplicaSet) Owner {
	o := Owner{Ready: int(set.Status.ReadyReplicas), RollingOut: rollingOut(set)}
	if ref := metav1.GetControllerOfNoCopy(set); ref != nil && ref.Kind == "Deployment" {
		o.Deployment = ref.Name
	}
	return o
}

// rollingOut reports whether a ReplicaSet's Deployment is replacing or scaling
// it. The Deployment controller annotates each ReplicaSet with the replicas
// that the whole Deployment wants.
func rollingOut(set *appsv1.ReplicaSet) bool {
	if set.Status.ObservedGeneration < set.Generation || int(set.Status.Replicas) != wanted(set) {
		return true
	}
	desired, err := strconv.Atoi(set.Annotations["deployment.kubernetes.io/desired-replicas"])
	return err == nil && desired != wanted(set)
}

func ofStatefulSet(set *appsv1.StatefulSet) Owner {
	s := &set.Status
	return Owner{
		Ready:      int(s.ReadyReplicas),
		RollingOut: s.CurrentRevision != s.UpdateRevision || s.ObservedGeneration < set.Generation,
	}
}

// updated notes a change of scale. An owner that wants fewer pods replaces that
// many fewer of its evicted ones.
func (w *Watched) updated(before, after any) {
	fewer := wanted(before) - wanted(after)
	if fewer == 0 {
		return
	}
	uid := after.(metav1.Object).GetUID() //nolint:forcetypeassert // informers deliver API objects
	now := w.clock.Now()
	w.ledger.CancelOwner(string(uid), fewer, now)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scaled[uid] = now
}

func (w *Watched) deleted(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if deleted, ok := object.(metav1.Object); ok {
		w.ledger.CancelOwner(string(deleted.GetUID()), math.MaxInt, w.clock.Now())
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.scaled, deleted.GetUID())
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
