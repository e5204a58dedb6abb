package evictor

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/cache"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/budgets"
	"github.com/evenkeel/evenkeel/evictor/custom"
	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/placement"
)

// Watched is the Cluster based on informers. It lives as long as the process.
type Watched struct {
	factory informers.SharedInformerFactory
	ledger  *ledger.Ledger
	clock   Clock

	// The fields up to mu are nil until WatchOwners is called.
	replicaSets  appslisters.ReplicaSetLister
	statefulSets appslisters.StatefulSetLister
	controllers  corelisters.ReplicationControllerLister
	namespaces   corelisters.NamespaceLister
	budgets      policylisters.PodDisruptionBudgetLister
	selectors    budgets.Selectors
	quotas       corelisters.ResourceQuotaLister
	follower     *placement.Follower
	pods         cache.Indexer

	// jobs and cronJobs are nil until WatchJobs is called.
	jobs     batchlisters.JobLister
	cronJobs batchlisters.CronJobLister
	// customs is nil until WatchCustom is called.
	customs *custom.Controllers
	// replicaSetsBy and controllersBy index, by their controller, the owners that want
	// pods.
	replicaSetsBy, controllersBy cache.Indexer

	taints atomic.Pointer[cluster.TaintRule]
	// began is when this process began.
	began time.Time

	mu     sync.Mutex
	scaled map[types.UID]scaling
}

var _ Cluster = (*Watched)(nil)

// NewWatched returns a Watched over informers that the caller starts.
func NewWatched(factory informers.SharedInformerFactory, moves *ledger.Ledger, clock Clock) *Watched {
	w := &Watched{factory: factory, ledger: moves, clock: clock, began: clock.Now(), scaled: map[types.UID]scaling{}}
	w.SetTaints(cluster.TaintRule{})
	return w
}

// SetTaints sets the policy's rule on the taints of nodes.
func (w *Watched) SetTaints(rule cluster.TaintRule) { w.taints.Store(&rule) }

// WatchOwners requests the watches that planned moves need in addition to that of pods:
// owners, budgets, quotas and the objects that kube-scheduler's filters read. Upstream's
// plugins need none of them. It may be called more than once.
func (w *Watched) WatchOwners(filters *placement.Filters) error {
	if w.follower != nil {
		return nil
	}
	apps, core := w.factory.Apps().V1(), w.factory.Core().V1()
	handler := cache.ResourceEventHandlerFuncs{UpdateFunc: w.updated, DeleteFunc: w.deleted}
	if _, err := apps.ReplicaSets().Informer().AddEventHandler(handler); err != nil {
		return fmt.Errorf("watching ReplicaSets: %w", err)
	}
	if _, err := apps.StatefulSets().Informer().AddEventHandler(handler); err != nil {
		return fmt.Errorf("watching StatefulSets: %w", err)
	}
	if _, err := core.ReplicationControllers().Informer().AddEventHandler(handler); err != nil {
		return fmt.Errorf("watching ReplicationControllers: %w", err)
	}
	pods := core.Pods().Informer()
	if err := pods.AddIndexers(cache.Indexers{byController: controllerOf}); err != nil {
		return fmt.Errorf("indexing pods by controller: %w", err)
	}
	sets, controllers := apps.ReplicaSets().Informer(), core.ReplicationControllers().Informer()
	for _, informer := range []cache.SharedIndexInformer{sets, controllers} {
		if err := informer.AddIndexers(cache.Indexers{byController: wantedBy}); err != nil {
			return fmt.Errorf("indexing owners by controller: %w", err)
		}
	}
	w.replicaSetsBy, w.controllersBy = sets.GetIndexer(), controllers.GetIndexer()
	w.pods = pods.GetIndexer()
	w.controllers, w.namespaces = core.ReplicationControllers().Lister(), core.Namespaces().Lister()
	w.replicaSets, w.statefulSets = apps.ReplicaSets().Lister(), apps.StatefulSets().Lister()
	w.budgets, w.quotas = w.factory.Policy().V1().PodDisruptionBudgets().Lister(), core.ResourceQuotas().Lister()
	w.follower = filters.Follow(objects{w})
	changed := cache.ResourceEventHandlerFuncs{AddFunc: w.follow, UpdateFunc: func(_, after any) { w.follow(after) }, DeleteFunc: w.follow}
	for _, informer := range []cache.SharedIndexInformer{core.Nodes().Informer(), pods} {
		if _, err := informer.AddEventHandler(changed); err != nil {
			return fmt.Errorf("watching nodes and pods: %w", err)
		}
	}
	return nil
}

// WatchJobs requests Jobs, for a policy that allows moves of their pods. It may be called
// more than once.
func (w *Watched) WatchJobs() error {
	if w.jobs != nil {
		return nil
	}
	batch := w.factory.Batch().V1()
	handler := cache.ResourceEventHandlerFuncs{UpdateFunc: w.updated, DeleteFunc: w.deleted}
	if _, err := batch.Jobs().Informer().AddEventHandler(handler); err != nil {
		return fmt.Errorf("watching Jobs: %w", err)
	}
	w.jobs, w.cronJobs = batch.Jobs().Lister(), batch.CronJobs().Lister()
	return nil
}

// WatchCustom adds the controllers that are custom resources to the owners.
func (w *Watched) WatchCustom(controllers *custom.Controllers) {
	w.customs = controllers
	controllers.Follow(cache.ResourceEventHandlerFuncs{UpdateFunc: w.updated, DeleteFunc: w.deleted})
}

// Pod implements Cluster.
func (w *Watched) Pod(namespace, name string) *v1.Pod {
	pod, err := w.factory.Core().V1().Pods().Lister().Pods(namespace).Get(name)
	if err != nil {
		return nil
	}
	return pod
}

// byController is the name of the index of pods by the UID of their controller.
const byController = "evenkeel.io/controller"

func controllerOf(object any) ([]string, error) {
	if controlled, ok := object.(metav1.Object); ok {
		if ref := metav1.GetControllerOfNoCopy(controlled); ref != nil {
			return []string{string(ref.UID)}, nil
		}
	}
	return nil, nil
}

// wantedBy is like controllerOf, but leaves out the many old ReplicaSets that want no
// pods.
func wantedBy(object any) ([]string, error) {
	if owners.Wanted(object) == 0 {
		return nil, nil
	}
	return controllerOf(object)
}

// Siblings implements Cluster. Anyone who can create pods in another namespace can name
// any controller there, so only pods in the pod's own namespace count.
func (w *Watched) Siblings(pod *v1.Pod) []*v1.Pod {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || w.pods == nil {
		return nil
	}
	objects, err := w.pods.ByIndex(byController, string(ref.UID))
	if err != nil {
		return nil // WatchOwners added the index
	}
	siblings := make([]*v1.Pod, 0, len(objects))
	for _, object := range objects {
		if sibling, ok := object.(*v1.Pod); ok && sibling.Namespace == pod.Namespace {
			siblings = append(siblings, sibling)
		}
	}
	return siblings
}

// Budgets implements Cluster.
func (w *Watched) Budgets(pod *v1.Pod) []*policyv1.PodDisruptionBudget {
	if w.budgets == nil {
		return nil
	}
	all, err := w.budgets.PodDisruptionBudgets(pod.Namespace).List(labels.Everything())
	if err != nil {
		return nil // the lister reads a cache and returns no error
	}
	return w.selectors.Selecting(pod, all)
}

// Quotas implements Cluster.
func (w *Watched) Quotas(namespace string) []*v1.ResourceQuota {
	if w.quotas == nil {
		return nil
	}
	quotas, err := w.quotas.ResourceQuotas(namespace).List(labels.Everything())
	if err != nil {
		return nil // the lister reads a cache and returns no error
	}
	return quotas
}

// Namespace implements Cluster.
func (w *Watched) Namespace(name string) *v1.Namespace {
	if w.namespaces == nil {
		return &unseen
	}
	namespace, err := w.namespaces.Get(name)
	if err != nil {
		return &unseen // the Namespace is new: the lister reads a cache and returns no other error
	}
	return namespace
}

// unseen is returned for a Namespace that the watch does not contain yet.
var unseen v1.Namespace

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
	for i := range pod.Spec.InitContainers {
		sidecar := &pod.Spec.InitContainers[i]
		if status, ok := podutil.GetContainerStatus(pod.Status.InitContainerStatuses, sidecar.Name); ok && podutil.IsRestartableInitContainer(sidecar) {
			r.Restarts += int(status.RestartCount)
		}
	}
	return r
}

// Session implements Cluster. It costs what has changed since the last session.
func (w *Watched) Session(context.Context) (*placement.Session, error) { return w.follower.Begin() }

// follow tells the filters that a node or pod was added, changed or deleted.
func (w *Watched) follow(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	switch changed := object.(type) {
	case *v1.Node:
		w.follower.NodeChanged(changed.Name)
	case *v1.Pod:
		w.follower.PodChanged(changed)
	}
}

// objects are the watched nodes and pods, for kube-scheduler's filters.
type objects struct{ *Watched }

// Nodes implements placement.Objects.
func (o objects) Nodes() []*v1.Node {
	nodes, err := o.factory.Core().V1().Nodes().Lister().List(labels.Everything())
	if err != nil {
		return nil // the lister reads a cache and returns no error
	}
	return nodes
}

// Node implements placement.Objects.
func (o objects) Node(name string) *v1.Node {
	node, err := o.factory.Core().V1().Nodes().Lister().Get(name)
	if err != nil {
		return nil
	}
	return node
}

// Pods implements placement.Objects.
func (o objects) Pods() []*v1.Pod {
	pods, err := o.factory.Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil {
		return nil // the lister reads a cache and returns no error
	}
	return pods
}

// The kinds that are watched with typed clients.
var (
	replicaSetKind            = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	statefulSetKind           = schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	replicationControllerKind = schema.GroupKind{Kind: "ReplicationController"}
	jobKind                   = schema.GroupKind{Group: "batch", Kind: "Job"}
	cronJobKind               = schema.GroupKind{Group: "batch", Kind: "CronJob"}
)

// Owner implements Cluster.
func (w *Watched) Owner(pod *v1.Pod) owners.Owner {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || w.replicaSets == nil {
		return owners.Owner{}
	}
	switch kindOf(ref) {
	case replicaSetKind:
		if set, err := w.replicaSets.ReplicaSets(pod.Namespace).Get(ref.Name); err == nil && set.UID == ref.UID {
			o := owners.OfReplicaSet(set)
			o.RollingOut = o.RollingOut || beside(w.replicaSetsBy, set)
			return w.above(set, w.withScale(set, o))
		}
		return owners.Owner{Missing: true}
	case statefulSetKind:
		if set, err := w.statefulSets.StatefulSets(pod.Namespace).Get(ref.Name); err == nil && set.UID == ref.UID {
			return w.above(set, w.withScale(set, owners.OfStatefulSet(set, pod)))
		}
		return owners.Owner{Missing: true}
	case replicationControllerKind:
		if set, err := w.controllers.ReplicationControllers(pod.Namespace).Get(ref.Name); err == nil && set.UID == ref.UID {
			o := owners.OfReplicationController(set)
			o.RollingOut = o.RollingOut || beside(w.controllersBy, set)
			return w.above(set, w.withScale(set, o))
		}
		return owners.Owner{Missing: true}
	case jobKind:
		if w.jobs != nil {
			return w.job(pod, ref)
		}
	default:
		if w.customs != nil {
			return w.custom(pod, ref)
		}
	}
	return owners.Owner{}
}

// custom returns what is known about a controller that is a custom resource.
func (w *Watched) custom(pod *v1.Pod, ref *metav1.OwnerReference) owners.Owner {
	object, watched, listed := w.customs.Get(kindOf(ref), pod.Namespace, ref.Name)
	switch {
	case !watched:
		return owners.Owner{}
	case !listed:
		return owners.Owner{Unreadable: true}
	case object == nil || object.GetUID() != ref.UID:
		return owners.Owner{Missing: true}
	}
	return w.withScale(object, owners.OfCustom(object, pod))
}

// above adds the annotations of an owner's own controller if the policy names its kind,
// or records that the controller cannot be read. Deployments and Argo Rollouts copy their
// annotations to their ReplicaSets; OpenShift's DeploymentConfigs do not.
func (w *Watched) above(owner metav1.Object, o owners.Owner) owners.Owner {
	ref := metav1.GetControllerOfNoCopy(owner)
	if ref == nil || w.customs == nil {
		return o
	}
	object, watched, listed := w.customs.Get(kindOf(ref), owner.GetNamespace(), ref.Name)
	o.Unreadable = o.Unreadable || watched && !listed
	if object != nil && object.GetUID() == ref.UID {
		o.Parents = append(o.Parents, object.GetAnnotations())
	}
	return o
}

// job returns what is known about a pod's Job, and about the CronJob that created it.
func (w *Watched) job(pod *v1.Pod, ref *metav1.OwnerReference) owners.Owner {
	job, err := w.jobs.Jobs(pod.Namespace).Get(ref.Name)
	if err != nil || job.UID != ref.UID {
		return owners.Owner{Missing: true}
	}
	o := w.withScale(job, owners.OfJob(job, pod, w.clock.Now()))
	by := metav1.GetControllerOfNoCopy(job)
	if by == nil || kindOf(by) != cronJobKind {
		return o
	}
	if cronJob, err := w.cronJobs.CronJobs(pod.Namespace).Get(by.Name); err == nil && cronJob.UID == by.UID {
		o.Parents = append(o.Parents, cronJob.Annotations)
	}
	return o
}

func kindOf(ref *metav1.OwnerReference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
}

// beside reports whether the controller of a set has another set that wants pods, so that
// it is replacing the pods of one set with those of the other.
func beside(by cache.Indexer, set metav1.Object) bool {
	ref := metav1.GetControllerOfNoCopy(set)
	if ref == nil {
		return false
	}
	others, err := by.ByIndex(byController, string(ref.UID))
	return err == nil && slices.ContainsFunc(others, func(object any) bool {
		other, ok := object.(metav1.Object)
		return ok && other.GetUID() != set.GetUID() && other.GetNamespace() == set.GetNamespace()
	})
}

func (w *Watched) withScale(object metav1.Object, o owners.Owner) owners.Owner {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.Replicas == 0 { // the kind itself has no such rule
		o.Replicas = owners.Wanted(object)
	}
	o.UID, o.Created = string(object.GetUID()), object.GetCreationTimestamp().Time
	seen := w.scaled[object.GetUID()]
	o.RolledOut, o.Scaled, o.Shrunk = seen.rolledOut, seen.changed, seen.shrunk
	// For changes before this process watched the object, only the times in its managed
	// fields are available. Later times are ignored, because they may be those of a
	// change of annotations, which a Deployment copies to its ReplicaSets.
	_, late := object.(*unstructured.Unstructured) // a custom resource may be watched only since its kind was served
	for _, stated := range object.GetManagedFields() {
		if stated.Time != nil && stated.Time.After(o.Scaled) && (late || stated.Time.Time.Before(w.began.Add(firstLists))) {
			o.Scaled = stated.Time.Time
		}
	}
	o.Annotations, o.Deleting = object.GetAnnotations(), object.GetDeletionTimestamp() != nil
	return o
}

// firstLists is an upper bound on the time that the first lists take.
const firstLists = time.Minute

// scaling holds the times at which an owner's number of replicas was last seen to change
// and to decrease, and at which one of its rollouts was last seen to end.
type scaling struct{ changed, shrunk, rolledOut time.Time }

// updated records a change of scale and the end of a rollout. It also cancels moves of an
// owner that was scaled down, because the owner no longer replaces that many of its
// evicted pods; for a StatefulSet, these are the pods whose ordinals are no longer
// wanted.
func (w *Watched) updated(before, after any) {
	fewer := owners.Wanted(before) - owners.Wanted(after)
	object := after.(metav1.Object) //nolint:forcetypeassert // informers deliver API objects
	uid := object.GetUID()
	now := w.clock.Now()
	if owners.NamesPods(after) {
		w.ledger.CancelPods(object.GetNamespace(), string(uid), func(pod string) bool { return owners.Wants(after, pod) }, now)
	} else {
		w.ledger.CancelOwner(object.GetNamespace(), string(uid), fewer, now)
	}
	rolledOut := owners.RolledOut(before, after)
	if fewer == 0 && !rolledOut {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.scaled[uid]
	if fewer != 0 {
		known.changed = now
	}
	if fewer > 0 {
		known.shrunk = now
	}
	if rolledOut {
		known.rolledOut = now
	}
	w.scaled[uid] = known
}

func (w *Watched) deleted(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if deleted, ok := object.(metav1.Object); ok {
		w.ledger.CancelOwner(deleted.GetNamespace(), string(deleted.GetUID()), math.MaxInt, w.clock.Now())
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.scaled, deleted.GetUID())
	}
}
