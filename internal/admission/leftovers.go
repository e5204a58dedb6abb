package admission

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// Gate is the scheduling gate of a pod that is held.
const Gate = gate

const (
	leftoversPage = 500
	// letGoAttempts is how often taking a gate off is tried while others change
	// the pod's gates.
	letGoAttempts = 3
)

// Leftovers finds what steering has left in a cluster, and takes it away. It
// does not ask who leads: it is for persons, when no process is there to do it.
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
	// Ends are when its keys end, the first first; zero for a key that cannot
	// be read.
	Ends []time.Time
}

// Name is the name of every Steering of ours.
func (s *Stored) Name() string { return objectName }

// Steerings lists the Steerings of all namespaces that are ours. There is none
// where their kind is not installed.
func (l *Leftovers) Steerings(ctx context.Context) ([]Stored, error) {
	var all []Stored
	options := metav1.ListOptions{FieldSelector: "metadata.name=" + objectName, Limit: leftoversPage}
	for {
		page, err := bounded(ctx, func(ctx context.Context) (page, error) {
			list, err := l.steerings.List(ctx, options)
			if err != nil {
				return page{}, err
			}
			of := page{next: list.GetContinue()}
			for i := range list.Items {
				if item := &list.Items[i]; item.GetName() == objectName {
					of.steerings = append(of.steerings, Stored{Namespace: item.GetNamespace(), Ends: ends(item)})
				}
			}
			return of, nil
		})
		if apierrors.IsNotFound(err) {
			return all, nil
		}
		if err != nil {
			return all, fmt.Errorf("listing Steerings: %w", err)
		}
		all = append(all, page.steerings...)
		if options.Continue = page.next; page.next == "" {
			return all, nil
		}
	}
}

// page is a part of a list.
type page struct {
	steerings []Stored
	pods      []v1.Pod
	next      string
}

// bounded makes a call that takes callTimeout at most.
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
	var all []v1.Pod
	options := metav1.ListOptions{FieldSelector: "spec.nodeName=", Limit: leftoversPage}
	for {
		page, err := bounded(ctx, func(ctx context.Context) (page, error) {
			list, err := l.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
			if err != nil {
				return page{}, err
			}
			of := page{next: list.Continue}
			for i := range list.Items {
				if held(&list.Items[i]) {
					of.pods = append(of.pods, list.Items[i])
				}
			}
			return of, nil
		})
		if err != nil {
			return all, fmt.Errorf("listing pods: %w", err)
		}
		all = append(all, page.pods...)
		if options.Continue = page.next; page.next == "" {
			return all, nil
		}
	}
}

// LetGo takes the gate off a pod, without a nomination. One that is gone by now,
// or has the gate no more, is done with.
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
			return fmt.Errorf("taking the gate off pod %q: %w", pod.Namespace+"/"+pod.Name, err)
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
