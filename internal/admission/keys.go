package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/ledger"
)

// Keys writes the keys of owners whose next pod is steered. Only the process
// that evicts writes any. It is safe for concurrent use.
type Keys struct {
	client dynamic.NamespaceableResourceInterface
	moves  *ledger.Ledger
	now    func() time.Time

	mu sync.Mutex
	// open are the keys that this process has set and not cleared.
	open map[owner]key
}

// owner is a controller.
type owner struct{ namespace, uid string }

// key is an open key.
type key struct {
	podUID string // of the pod that is moved
	until  time.Time
}

var (
	// errTaken says that an owner's key is another move's: pods of one
	// controller cannot be told apart at admission.
	errTaken = errors.New("another move of the owner has its key")
	// errFull says that a namespace has as many keys as its Steering takes.
	errFull = errors.New("the namespace has as many open moves as can be steered at once")
)

// NewKeys returns Keys for the moves of a ledger, that reach the API server by a
// client.
func NewKeys(client dynamic.Interface, moves *ledger.Ledger, now func() time.Time) *Keys {
	return &Keys{client: client.Resource(resource), moves: moves, now: now, open: map[owner]key{}}
}

// set opens the key of an owner for the move of a pod, unless another move has
// it or the namespace is full.
func (k *Keys) set(ctx context.Context, of owner, podUID string, to target) error {
	if err := k.take(of, podUID, to.Until); err != nil {
		return err
	}
	if err := k.write(ctx, of.namespace, map[string]any{of.uid: to}); err != nil {
		k.clear(ctx, of) // it may have been written all the same
		return err
	}
	return nil
}

// take notes an open key.
func (k *Keys) take(of owner, podUID string, until time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	inNamespace, now := 0, k.now()
	for other, open := range k.open {
		if other.namespace == of.namespace && other != of && now.Before(open.until) {
			inNamespace++
		}
	}
	open, taken := k.open[of]
	switch {
	case taken && open.podUID != podUID && now.Before(open.until):
		return errTaken
	case inNamespace >= maxKeys:
		return errFull
	}
	k.open[of] = key{podUID, until}
	return nil
}

// isOpen reports whether this process has opened the key of an owner.
func (k *Keys) isOpen(of owner) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, open := k.open[of]
	return open
}

// settle clears the key of an owner if its move waits for no pod any more: the
// replacement has come, or never will. It reports whether the key is open
// still.
func (k *Keys) settle(ctx context.Context, of owner) (open bool, err error) {
	k.mu.Lock()
	held, open := k.open[of]
	k.mu.Unlock()
	if !open {
		return false, nil
	}
	move, known := k.moves.Get(held.podUID)
	if known && move.InFlight() && move.Replacement == "" && k.now().Before(held.until) {
		return true, nil
	}
	return false, k.end(ctx, of)
}

// end clears the key of an owner, if this process has opened it. If the API
// server cannot be reached the key ends by itself.
func (k *Keys) end(ctx context.Context, of owner) error {
	k.mu.Lock()
	_, open := k.open[of]
	delete(k.open, of)
	k.mu.Unlock()
	if !open {
		return nil
	}
	return k.write(ctx, of.namespace, map[string]any{of.uid: nil})
}

func (k *Keys) clear(ctx context.Context, of owner) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	_ = k.end(ctx, of) // it ends by itself
}

// callTimeout bounds a call about a key.
const callTimeout = 5 * time.Second

// write changes keys of a namespace: a nil value removes one.
func (k *Keys) write(ctx context.Context, namespace string, keys map[string]any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	patch, err := json.Marshal(map[string]any{"targets": keys})
	if err != nil {
		return fmt.Errorf("encoding keys: %w", err)
	}
	object := k.client.Namespace(namespace)
	for range 2 { // somebody may delete it between the two calls
		_, err = object.Patch(ctx, objectName, types.MergePatchType, patch, metav1.PatchOptions{})
		if !apierrors.IsNotFound(err) {
			break
		}
		if err = k.create(ctx, object, keys); !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("writing the Steering of namespace %q: %w", namespace, err)
	}
	return nil
}

// create makes the Steering of a namespace, unless nothing would be in it.
func (k *Keys) create(ctx context.Context, object dynamic.ResourceInterface, keys map[string]any) error {
	targets := map[string]any{}
	for uid, value := range keys {
		if to, ok := value.(target); ok {
			nodes := make([]any, len(to.Nodes))
			for i, node := range to.Nodes {
				nodes[i] = node
			}
			targets[uid] = map[string]any{"nodes": nodes, "until": to.Until.UTC().Format(time.RFC3339), "by": to.By}
		}
	}
	if len(targets) == 0 {
		return nil
	}
	_, err := object.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": resource.GroupVersion().String(), "kind": "Steering", "metadata": map[string]any{"name": objectName}, "targets": targets,
	}}, metav1.CreateOptions{})
	return err //nolint:wrapcheck // write says what for
}

// Sweep deletes the Steering objects that hold no key of this process, such as
// a predecessor's, and returns how many. Nothing else collects them.
func (k *Keys) Sweep(ctx context.Context) (removed int, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, err := k.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("listing Steerings: %w", err)
	}
	for i := range list.Items {
		object := &list.Items[i]
		if k.holds(object.GetNamespace()) {
			continue
		}
		version := object.GetResourceVersion()
		options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}}
		deleted := k.client.Namespace(object.GetNamespace()).Delete(ctx, object.GetName(), options)
		switch {
		case deleted == nil:
			removed++
		case !apierrors.IsNotFound(deleted) && !apierrors.IsConflict(deleted):
			err = errors.Join(err, fmt.Errorf("deleting the Steering of namespace %q: %w", object.GetNamespace(), deleted))
		}
	}
	return removed, err
}

// settleAll is settle for all keys, and reports whether any is open still.
func (k *Keys) settleAll(ctx context.Context) (open bool) {
	k.mu.Lock()
	all := slices.Collect(maps.Keys(k.open))
	k.mu.Unlock()
	for _, of := range all {
		waits, err := k.settle(ctx, of)
		if err != nil {
			klog.FromContext(ctx).V(2).Info("A key was not cleared and ends by itself", "namespace", of.namespace, "reason", err.Error())
		}
		open = open || waits
	}
	return open
}

// holds reports whether this process has an open key in a namespace.
func (k *Keys) holds(namespace string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for of := range k.open {
		if of.namespace == namespace {
			return true
		}
	}
	return false
}
