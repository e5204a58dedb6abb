package admission

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"

	"github.com/evenkeel/evenkeel/cluster/names"
)

// Gate is the scheduling gate of held pods.
const Gate = gate

// letGoAttempts is how often removing a gate is tried while others change the pod's gates.
const letGoAttempts = 3

// Leftovers finds and removes what steering has left in a cluster. It does not check who leads, because people use it
// when no process is left to do this.
type Leftovers struct {
	client    kubernetes.Interface
	steerings dynamic.NamespaceableResourceInterface
}

// NewLeftovers returns the Leftovers of a cluster.
func NewLeftovers(client kubernetes.Interface, steerings dynamic.Interface) *Leftovers {
	return &Leftovers{client: client, steerings: steerings.Resource(resource)}
}

// Stored is the Steering of a namespace.
type Stored struct {
	Namespace string
	// Ends holds the times at which its keys end, the earliest first; zero for an
	// unreadable key.
	Ends []time.Time
}

// Name returns the name of all our Steerings.
func (s *Stored) Name() string { return objectName }

// Steerings lists our Steerings in all namespaces; none if their kind is not installed.
func (l *Leftovers) Steerings(ctx context.Context) ([]Stored, error) {
	var all []Stored
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return l.steerings.List(ctx, options)
	}
	err := each(ctx, "metadata.name="+objectName, list, func(item runtime.Object) error {
		if of, ok := item.(*unstructured.Unstructured); ok && of.GetName() == objectName {
			all = append(all, Stored{Namespace: of.GetNamespace(), Ends: ends(of)})
		}
		return nil
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return all, fmt.Errorf("listing Steerings: %w", err)
	}
	return all, nil
}

// each lists in pages. Each page may take callTimeout.
func each(ctx context.Context, fields string, list pager.ListPageFunc, use func(runtime.Object) error) error {
	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return bounded(ctx, func(ctx context.Context) (runtime.Object, error) { return list(ctx, options) })
	})
	return pages.EachListItem(ctx, metav1.ListOptions{FieldSelector: fields}, use) //nolint:wrapcheck // the caller adds the context
}

// bounded makes a call that may take callTimeout.
func bounded[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return call(ctx)
}

// Delete deletes the Steering of a namespace, if there is one.
func (l *Leftovers) Delete(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := l.steerings.Namespace(namespace).Delete(ctx, objectName, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting the Steering of namespace %q: %w", namespace, err)
	}
	return nil
}

// Held lists the pods that have the gate. None of them has a node.
func (l *Leftovers) Held(ctx context.Context) ([]v1.Pod, error) {
	return l.waiting(ctx, held)
}

// Stranded lists the pods that the API server restricted to nodes, none of which accepts them. A controller replaces
// them if they are evicted.
func (l *Leftovers) Stranded(ctx context.Context) ([]v1.Pod, error) {
	return l.waiting(ctx, func(pod *v1.Pod) bool {
		return stranded(pod) && names.Restricted(pod) && metav1.GetControllerOfNoCopy(pod) != nil
	})
}

// waiting lists the pods without a node for which of returns true.
func (l *Leftovers) waiting(ctx context.Context, of func(pod *v1.Pod) bool) ([]v1.Pod, error) {
	var all []v1.Pod
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return l.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
	}
	err := each(ctx, "spec.nodeName=", list, func(item runtime.Object) error {
		if pod, ok := item.(*v1.Pod); ok && of(pod) {
			all = append(all, *pod)
		}
		return nil
	})
	if err != nil {
		return all, fmt.Errorf("listing pods: %w", err)
	}
	return all, nil
}

// Release evicts a stranded pod, so that its controller creates another one. If the pod is gone or has changed
// meanwhile, Release leaves it to the next check.
func (l *Leftovers) Release(ctx context.Context, pod *v1.Pod) error {
	err := release(ctx, l.client, pod)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// LetGo removes the gate from a pod, without a nomination. If the pod no longer exists or no longer has the gate, LetGo
// does nothing.
func (l *Leftovers) LetGo(ctx context.Context, pod *v1.Pod) error {
	pods := l.client.CoreV1().Pods(pod.Namespace)
	for attempt := 1; ; attempt++ {
		patch, err := patchOf(pod, ungating(pod))
		if err != nil {
			return err
		}
		_, err = bounded(ctx, func(ctx context.Context) (*v1.Pod, error) {
			return pods.Patch(ctx, pod.Name, types.JSONPatchType, patch, metav1.PatchOptions{})
		})
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsInvalid(err) || attempt == letGoAttempts {
			return fmt.Errorf("removing the gate from pod %q: %w", pod.Namespace+"/"+pod.Name, err)
		}
		read, err := bounded(ctx, func(ctx context.Context) (*v1.Pod, error) { return pods.Get(ctx, pod.Name, metav1.GetOptions{}) })
		switch {
		case apierrors.IsNotFound(err), err == nil && (read.UID != pod.UID || !held(read)):
			return nil
		case err != nil:
			return fmt.Errorf("reading pod %q: %w", pod.Namespace+"/"+pod.Name, err)
		}
		pod = read
	}
}
