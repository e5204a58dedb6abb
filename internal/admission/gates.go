package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const (
	// gateWorkers is how many pods are let go at a time.
	gateWorkers = 4
	// The pauses between two attempts to let a pod go.
	minRetry, maxRetry = 20 * time.Millisecond, time.Second
	// forbiddenRetry is the one where the right is missing: whoever may create
	// pods can give them our gate.
	forbiddenRetry = 30 * time.Second
)

// Gates lets held pods go: it nominates the planned node, which kube-scheduler
// tries first, and takes the gate off. A pod for which there is no plan goes
// free at once. Each replica does it, whoever leads.
type Gates struct {
	client   kubernetes.Interface
	keys     *Keys
	informer cache.SharedIndexInformer
	pods     corelisters.PodLister
}

// queue holds the pods to look at.
type queue = workqueue.TypedRateLimitingInterface[types.NamespacedName]

// NewGates returns Gates over an informer of pods that the caller starts. They
// clear the keys that held pods answer.
func NewGates(client kubernetes.Interface, keys *Keys, pods cache.SharedIndexInformer) *Gates {
	return &Gates{client: client, keys: keys, informer: pods, pods: corelisters.NewPodLister(pods.GetIndexer())}
}

// held reports whether a pod has our gate.
func held(pod *v1.Pod) bool { return pod.DeletionTimestamp == nil && gateOf(pod) >= 0 }

func gateOf(pod *v1.Pod) int {
	return slices.IndexFunc(pod.Spec.SchedulingGates, func(g v1.PodSchedulingGate) bool { return g.Name == gate })
}

// keyed reports whether the key of a pod's owner is open, so that the pod may
// be the one that it is for.
func (g *Gates) keyed(pod *v1.Pod) bool {
	by := metav1.GetControllerOfNoCopy(pod)
	return by != nil && g.keys.isOpen(owner{pod.Namespace, string(by.UID)})
}

// Run lets pods go until the context ends. land returns the node that a pod is
// planned for and holds room for it there; empty for a pod that replaces
// nothing, or that no node is cool enough for.
func (g *Gates) Run(ctx context.Context, land func(*v1.Pod) string) error {
	waiting := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](minRetry, maxRetry))
	changed := func(object any) {
		if pod, ok := object.(*v1.Pod); ok && (held(pod) || g.keyed(pod)) {
			waiting.Add(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
		}
	}
	watching, err := g.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }})
	if err != nil {
		waiting.ShutDown()
		return fmt.Errorf("watching pods: %w", err)
	}
	var workers sync.WaitGroup
	for range gateWorkers {
		workers.Go(func() {
			for g.next(ctx, waiting, land) {
			}
		})
	}
	<-ctx.Done()
	err = g.informer.RemoveEventHandler(watching)
	waiting.ShutDown()
	workers.Wait()
	return err //nolint:wrapcheck // it says all
}

func (g *Gates) next(ctx context.Context, waiting queue, land func(*v1.Pod) string) bool {
	name, down := waiting.Get()
	if down {
		return false
	}
	defer waiting.Done(name)
	again, err := g.handle(ctx, name, land)
	switch {
	case apierrors.IsForbidden(err):
		klog.FromContext(ctx).V(2).Info("A pod may not be let go", "pod", klog.KRef(name.Namespace, name.Name), "reason", err.Error())
		waiting.AddAfter(name, forbiddenRetry)
	case apierrors.IsInvalid(err): // another replica was faster, as the watch will show
		waiting.AddRateLimited(name)
	case err != nil:
		klog.FromContext(ctx).Error(err, "A pod was not let go yet", "pod", klog.KRef(name.Namespace, name.Name))
		waiting.AddRateLimited(name)
	case again:
		waiting.AddAfter(name, minRetry)
	default:
		waiting.Forget(name)
	}
	return true
}

// handle lets a pod go and clears the key that it was steered by. It reports
// whether to look again: the ledger may hear of a pod later than Gates.
func (g *Gates) handle(ctx context.Context, name types.NamespacedName, land func(*v1.Pod) string) (again bool, err error) {
	pod, err := g.pods.Pods(name.Namespace).Get(name.Name)
	if err != nil {
		return false, nil //nolint:nilerr // it is gone
	}
	if held(pod) {
		if err := g.letGo(ctx, pod, land(pod)); err != nil {
			return false, err
		}
	}
	if !g.keyed(pod) {
		return false, nil
	}
	open, err := g.keys.settle(ctx, owner{pod.Namespace, string(metav1.GetControllerOfNoCopy(pod).UID)})
	return open && pod.Spec.NodeName == "", err
}

// letGo nominates a node, if one is given, and takes the gate off. A nomination
// that fails costs the pod its preference, never its scheduling.
func (g *Gates) letGo(ctx context.Context, pod *v1.Pod, node string) error {
	klog.FromContext(ctx).V(3).Info("Pod is let go", "pod", klog.KObj(pod), "nominated", node)
	if node != "" {
		if err := g.nominate(ctx, pod, node); err != nil {
			klog.FromContext(ctx).Error(err, "A node was not nominated", "pod", klog.KObj(pod), "node", node)
		}
	}
	return g.ungate(ctx, pod)
}

func (g *Gates) nominate(ctx context.Context, pod *v1.Pod, node string) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID}, "status": map[string]any{"nominatedNodeName": node},
	})
	if err != nil {
		return fmt.Errorf("encoding a nomination: %w", err)
	}
	return g.patch(ctx, pod, types.MergePatchType, patch, "status")
}

// ungate takes the gate off the pod as it was seen. If its gates have changed
// since, the error is an Invalid.
func (g *Gates) ungate(ctx context.Context, pod *v1.Pod) error {
	patch, err := ungating(pod)
	if err != nil {
		return err
	}
	return g.patch(ctx, pod, types.JSONPatchType, patch)
}

// ungating is the JSON patch that takes the gate off the pod as it was seen.
func ungating(pod *v1.Pod) ([]byte, error) {
	path := fmt.Sprintf("/spec/schedulingGates/%d", gateOf(pod))
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": pod.UID},
		{"op": "test", "path": path + "/name", "value": gate},
		{"op": "remove", "path": path},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	return patch, nil
}

func (g *Gates) patch(ctx context.Context, pod *v1.Pod, kind types.PatchType, patch []byte, subresource ...string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := g.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, kind, patch, metav1.PatchOptions{}, subresource...)
	if apierrors.IsNotFound(err) || errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("patching pod %q: %w", pod.Namespace+"/"+pod.Name, err)
	}
	return nil
}
