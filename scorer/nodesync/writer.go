package nodesync

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/flowcontrol"
)

// maxAttempts is the number of attempts to change a node while others change it.
const maxAttempts = 4

const fieldManager = "evenkeel-nodesync"

var nodesResource = schema.GroupResource{Resource: "nodes"}

// Leader reports whether this process leads.
type Leader interface {
	// Leads returns an error if this process must not write any longer.
	Leads() error
}

// writer changes nodes, within the rate of its limiter.
type writer struct {
	nodes   corev1.NodeInterface
	leader  Leader // may be nil
	limiter flowcontrol.RateLimiter
	timeout time.Duration
}

// apply applies the patch that decide returns. It calls decide again whenever
// the node has changed. The returned patch is the last one that decide
// returned.
func (w *writer) apply(ctx context.Context, object Object, decide func(Object) Patch) (Patch, result, error) {
	var patch Patch
	var err error
	for attempt := range maxAttempts {
		if attempt > 0 || object.ResourceVersion == "" {
			read, readErr := w.read(ctx, object)
			if readErr != nil {
				r, failed := outcome(fmt.Errorf("reading node %q: %w", object.Name, readErr))
				return decide(object), r, failed
			}
			object = read
		}
		if patch = decide(object); patch.Empty() {
			return patch, resultNothing, nil
		}
		if err = w.patch(ctx, object, &patch); !apierrors.IsConflict(err) {
			break
		}
	}
	if err == nil {
		return patch, resultSuccess, nil
	}
	r, err := outcome(fmt.Errorf("patching node %q: %w", object.Name, err))
	return patch, r, err
}

// read returns the current node. A node with the same name but another UID
// counts as not found.
func (w *writer) read(ctx context.Context, object Object) (Object, error) {
	if err := w.limiter.Wait(ctx); err != nil {
		return Object{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	node, err := w.nodes.Get(ctx, object.Name, metav1.GetOptions{})
	if err != nil {
		return Object{}, err
	}
	if object.UID != "" && string(node.UID) != object.UID {
		return Object{}, apierrors.NewNotFound(nodesResource, object.Name)
	}
	return ObjectOf(node), nil
}

func (w *writer) patch(ctx context.Context, object Object, patch *Patch) error {
	body, err := patch.Body(object.ResourceVersion)
	if err != nil {
		return err
	}
	if err := w.limiter.Wait(ctx); err != nil {
		return err
	}
	if w.leader != nil {
		if err := w.leader.Leads(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	_, err = w.nodes.Patch(ctx, object.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	return err
}

// outcome returns the result of a change from its error. Neither a node that is gone nor
// a node that others keep changing is an error: the former needs no change, and the
// latter is tried again in the next pass.
func outcome(err error) (result, error) {
	switch {
	case apierrors.IsNotFound(err):
		return resultGone, nil
	case apierrors.IsConflict(err):
		return resultConflict, nil
	}
	return resultError, err
}
