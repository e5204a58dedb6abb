package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/ledger"
)

const (
	// gateWorkers is the number of pods that are released concurrently, separately for
	// pods that may be replacements and for all others.
	gateWorkers = 4
	// The pauses between two attempts to release a pod.
	minRetry, maxRetry = 20 * time.Millisecond, time.Second
	// leaderFirst is how long after a pod's creation a follower without a plan for the
	// pod leaves it to the leader. Creation times are in whole seconds.
	leaderFirst = 1200 * time.Millisecond
	// forbiddenRetry is the pause if the permission is missing. It is long because anyone
	// who can create pods can give them our gate.
	forbiddenRetry = 30 * time.Second
)

// Gates releases held pods: it nominates the planned node, which kube-scheduler tries first, and removes the gate.
// Every replica does this, not only the leader. A pod without a plan is released, too; the leader does that at once.
type Gates struct {
	client   kubernetes.Interface
	keys     *Keys
	informer cache.SharedIndexInformer
	pods     corelisters.PodLister
	nodes    corelisters.NodeLister
}

// Land returns the node that a pod is planned for and reserves space for it there. It returns an empty name for a pod
// that replaces nothing, or if no node is cool enough. It never returns a node that does not accept the pod.
type Land func(pod *v1.Pod, takes func(node string) bool) string

// queue holds the pods to check.
type queue = workqueue.TypedRateLimitingInterface[types.NamespacedName]

func newQueue() queue {
	return workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](minRetry, maxRetry))
}

// NewGates returns Gates over informers that the caller starts. Gates also clears the
// keys of replacements that have come, and releases pods that were stranded by a
// restriction to node names.
func NewGates(client kubernetes.Interface, keys *Keys, watched informers.SharedInformerFactory) *Gates {
	core := watched.Core().V1()
	return &Gates{client: client, keys: keys, informer: core.Pods().Informer(), pods: core.Pods().Lister(), nodes: core.Nodes().Lister()}
}

// held reports whether a pod has our gate.
func held(pod *v1.Pod) bool { return pod.DeletionTimestamp == nil && gateOf(pod) >= 0 }

func gateOf(pod *v1.Pod) int {
	return slices.IndexFunc(pod.Spec.SchedulingGates, func(g v1.PodSchedulingGate) bool { return g.Name == gate })
}

// keyed reports whether the key that steers a pod is open. If so, the key may be for this
// pod.
func (g *Gates) keyed(pod *v1.Pod) bool {
	of, owned := idOfPod(pod)
	return owned && g.keys.isOpen(of)
}

// errOpen means that the key of a pod's owner is still open, because the ledger may learn of a pod after Gates does.
var errOpen = errors.New("the key is open")

// awaited reports whether a move of a pod's owner is in flight. Such pods must not wait behind others, because anyone
// who can create pods can have any number of them held.
func (g *Gates) awaited(pod *v1.Pod) bool {
	by := metav1.GetControllerOfNoCopy(pod)
	return by != nil && slices.ContainsFunc(g.keys.moves.MovesOf(pod.Namespace, string(by.UID)), func(move ledger.Move) bool { return move.InFlight() })
}

// Run releases pods until the context ends. Pods that it has seen by then are still
// released, within callTimeout, because no other process removes their gates after a
// one-shot run.
func (g *Gates) Run(ctx context.Context, land Land) error {
	awaited, others := newQueue(), newQueue()
	defer awaited.ShutDown()
	defer others.ShutDown()
	changed := func(object any) {
		pod, ok := object.(*v1.Pod)
		if !ok || !held(pod) && !g.keyed(pod) && !nominatedInVain(pod) && (!stranded(pod) || !g.ours(pod)) {
			return
		}
		waiting := others
		if g.awaited(pod) {
			waiting = awaited
		}
		waiting.Add(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	}
	watching, err := g.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }})
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var workers sync.WaitGroup
	for range gateWorkers {
		for _, waiting := range []queue{awaited, others} {
			workers.Go(func() {
				for g.next(working, waiting, land) {
				}
			})
		}
	}
	<-ctx.Done()
	defer time.AfterFunc(callTimeout, cancel).Stop()
	err = g.informer.RemoveEventHandler(watching)
	awaited.ShutDown()
	others.ShutDown()
	workers.Wait()
	return err //nolint:wrapcheck // the error is self-explanatory
}

func (g *Gates) next(ctx context.Context, waiting queue, land Land) bool {
	name, down := waiting.Get()
	if down {
		return false
	}
	defer waiting.Done(name)
	after, err := g.handle(ctx, name, land)
	switch {
	case apierrors.IsForbidden(err):
		klog.FromContext(ctx).V(2).Info("A pod may not be let go", "pod", klog.KRef(name.Namespace, name.Name), "reason", err.Error())
		waiting.AddAfter(name, forbiddenRetry)
	case apierrors.IsInvalid(err), errors.Is(err, errOpen): // another replica was faster, as the watch will show
		waiting.AddRateLimited(name)
	case err != nil:
		klog.FromContext(ctx).Error(err, "A pod was not let go yet", "pod", klog.KRef(name.Namespace, name.Name))
		waiting.AddRateLimited(name)
	case after > 0:
		waiting.AddAfter(name, after)
	default:
		waiting.Forget(name)
	}
	return true
}

// handle releases a stranded pod before doing anything else, so that no error elsewhere prevents that. It removes the
// gate of any other held pod, and clears the key that steered the pod. after is the time until the pod must be checked
// again; zero for never.
func (g *Gates) handle(ctx context.Context, name types.NamespacedName, land Land) (after time.Duration, err error) {
	pod, err := g.pods.Pods(name.Namespace).Get(name.Name)
	if err != nil {
		return 0, nil //nolint:nilerr // the pod is gone
	}
	if stranded(pod) && g.ours(pod) {
		return g.free(ctx, pod), nil
	}
	node := ""
	if held(pod) {
		node = g.plan(ctx, pod, land) // called first, so that the ledger knows the pod
		if left := g.yields(pod, node); left > 0 {
			return left, nil
		}
	}
	var answering errgroup.Group
	if g.keyed(pod) {
		answering.Go(func() error { return g.answer(ctx, pod) })
	}
	if held(pod) {
		err = g.letGo(ctx, pod, node)
	}
	if err = cmp.Or(err, answering.Wait()); err != nil {
		return 0, err
	}
	if nominatedInVain(pod) {
		return 0, g.withdraw(ctx, pod)
	}
	return 0, nil
}

// answer clears the key that steered a pod.
func (g *Gates) answer(ctx context.Context, pod *v1.Pod) error {
	of, _ := idOfPod(pod)
	open, err := g.keys.settle(ctx, of)
	if err == nil && open && pod.Spec.NodeName == "" {
		return errOpen
	}
	return err
}

// yields returns how long a pod is left to the leader. A replica that has just started
// knows neither usage nor moves, so it would release the replacement of a move without a
// node.
func (g *Gates) yields(pod *v1.Pod, node string) time.Duration {
	if node != "" || g.keys.leader.Leads() == nil {
		return 0
	}
	return pod.CreationTimestamp.Add(leaderFirst).Sub(g.keys.now())
}

// plan returns the node that is planned for a held pod. A pod that also has another gate
// gets no node, because the plan will be outdated by the time that gate is removed.
func (g *Gates) plan(ctx context.Context, pod *v1.Pod, land Land) string {
	if len(pod.Spec.SchedulingGates) > 1 {
		return ""
	}
	return land(pod, func(node string) bool { return Admits(ctx, g.nodes, node, pod) })
}

// letGo nominates the planned node and removes the gate. A failed nomination costs the pod its preference, never its
// scheduling.
func (g *Gates) letGo(ctx context.Context, pod *v1.Pod, node string) error {
	klog.FromContext(ctx).V(3).Info("Pod is let go", "pod", klog.KObj(pod), "nominated", node)
	if node != pod.Status.NominatedNodeName { // a process that has ended since may have nominated a node that is no longer suitable
		if err := g.nominate(ctx, pod, node); err != nil && !apierrors.IsInvalid(err) {
			klog.FromContext(ctx).Error(err, "A node was not nominated", "pod", klog.KObj(pod), "node", node)
		}
	}
	return g.ungate(ctx, pod)
}

// nominate sets the nominated node. It does nothing if another replica has released the pod, because kube-scheduler may
// be processing it.
func (g *Gates) nominate(ctx context.Context, pod *v1.Pod, node string) error {
	return g.patch(ctx, pod, Step{"add", "/status/nominatedNodeName", &node}, "status")
}

// withdraw removes a nomination that did not help.
func (g *Gates) withdraw(ctx context.Context, pod *v1.Pod) error {
	klog.FromContext(ctx).V(2).Info("Withdrawing a nomination, because no node accepts the pod", "pod", klog.KObj(pod), "nominated", pod.Status.NominatedNodeName)
	const path = "/status/nominatedNodeName"
	patch, err := Encode(Step{"test", "/metadata/uid", pod.UID}, Step{"test", path, pod.Status.NominatedNodeName}, Step{Op: "remove", Path: path})
	if err != nil {
		return err
	}
	return g.send(ctx, pod, patch, "status")
}

// ungate removes the gate from the pod.
func (g *Gates) ungate(ctx context.Context, pod *v1.Pod) error {
	return g.patch(ctx, pod, ungating(pod))
}

// ungating removes the gate from a pod.
func ungating(pod *v1.Pod) Step { return Step{Op: "remove", Path: gatePath(pod)} }

func gatePath(pod *v1.Pod) string { return fmt.Sprintf("/spec/schedulingGates/%d", gateOf(pod)) }

// patchOf returns the JSON patch that changes a held pod in the state in which it was seen. If the pod's gates have
// changed since, the API server rejects the patch as Invalid.
func patchOf(pod *v1.Pod, change Step) ([]byte, error) {
	return Encode(Step{"test", "/metadata/uid", pod.UID}, Step{"test", gatePath(pod) + "/name", gate}, change)
}

func (g *Gates) patch(ctx context.Context, pod *v1.Pod, change Step, subresource ...string) error {
	patch, err := patchOf(pod, change)
	if err != nil {
		return err
	}
	return g.send(ctx, pod, patch, subresource...)
}

func (g *Gates) send(ctx context.Context, pod *v1.Pod, patch []byte, subresource ...string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := g.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.JSONPatchType, patch, metav1.PatchOptions{}, subresource...)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("patching pod %q: %w", pod.Namespace+"/"+pod.Name, err)
	}
	return nil
}

// free releases a pod that has been stranded for long enough. after is the time until the pod must be checked again.
// Only the leader releases pods, but any process may lead later.
func (g *Gates) free(ctx context.Context, pod *v1.Pod) (after time.Duration) {
	if left := pod.CreationTimestamp.Add(strandedAfter).Sub(g.keys.now()); left > 0 {
		return left
	}
	if err := g.release(ctx, pod); err != nil {
		klog.FromContext(ctx).V(2).Info("A stranded pod was not released", "pod", klog.KObj(pod), "reason", err.Error())
	}
	return releaseRetry
}

// release evicts a stranded pod if this process leads. It does so even while evicting is
// paused, because a pod that never ran loses nothing and would otherwise wait
// indefinitely.
func (g *Gates) release(ctx context.Context, pod *v1.Pod) error {
	if err := g.keys.leader.Leads(); err != nil {
		return err //nolint:wrapcheck // the error is self-explanatory
	}
	return release(ctx, g.client, pod)
}

// ours reports whether a stranded pod may have been restricted for one of the remembered moves. If someone copies a
// steered pod into a template, the template keeps producing pods that look stranded, and all of them would be released.
func (g *Gates) ours(pod *v1.Pod) bool {
	by := metav1.GetControllerOfNoCopy(pod)
	return by != nil && slices.ContainsFunc(g.keys.moves.MovesOf(pod.Namespace, string(by.UID)), func(move ledger.Move) bool { return restricts(&move, pod) })
}
