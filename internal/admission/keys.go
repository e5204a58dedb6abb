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

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/ledger"
)

// Keys writes the keys of owners whose next pod is steered. Only the process
// that evicts writes any. It is safe for concurrent use.
type Keys struct {
	client dynamic.NamespaceableResourceInterface
	moves  *ledger.Ledger
	leader evictor.Leader
	now    func() time.Time

	mu sync.Mutex
	// open are the keys that this process has set and not cleared; used reports
	// whether it has set any.
	open map[owner]key
	used bool
}

// keyLasts is how long after its pod has left a key steers: controllers create
// the next pod within milliseconds, and a pod that is held while all of our
// replicas are away waits for one.
const keyLasts = 10 * time.Second

// owner is a controller.
type owner struct{ namespace, uid string }

// key is an open key.
type key struct {
	podUID string // of the pod that is moved
	until  time.Time
	// ending: it is being cleared, and what clears it would clear any other key
	// of the owner.
	ending bool
}

var (
	// errTaken says that an owner's key is another move's: pods of one
	// controller cannot be told apart at admission.
	errTaken = errors.New("another move of the owner has its key")
	// errFull says that a namespace has as many keys as its Steering takes.
	errFull = errors.New("the namespace has as many open moves as can be steered at once")
)

// NewKeys returns Keys for the moves of a ledger. They are written only while
// this process leads: a key that it has set then is not its own to clear.
func NewKeys(client dynamic.Interface, moves *ledger.Ledger, leader evictor.Leader, now func() time.Time) *Keys {
	return &Keys{client: client.Resource(resource), moves: moves, leader: leader, now: now, open: map[owner]key{}}
}

// set opens the key of an owner for the move of a pod, unless another move has
// it or the namespace is full.
func (k *Keys) set(ctx context.Context, of owner, podUID string, to target) error {
	err := k.take(of, podUID, to.Until)
	if errors.Is(err, errFull) { // some may have ended
		k.settleAll(ctx)
		err = k.take(of, podUID, to.Until)
	}
	if err != nil {
		return err
	}
	if err := k.write(ctx, of, to); err != nil {
		k.clear(ctx, of, podUID) // the API server may have written it all the same
		return err
	}
	return nil
}

// take notes an open key. Those that have ended count until they are cleared:
// the Steering holds them.
func (k *Keys) take(of owner, podUID string, until time.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	inNamespace := 0
	for other := range k.open {
		if other.namespace == of.namespace && other != of {
			inNamespace++
		}
	}
	open, taken := k.open[of]
	switch {
	case open.ending, taken && open.podUID != podUID && k.now().Before(open.until):
		return errTaken
	case inNamespace >= maxKeys:
		return errFull
	}
	k.open[of], k.used = key{podUID: podUID, until: until}, true
	return nil
}

func (k *Keys) unused() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.used
}

// isOpen reports whether this process has opened the key of an owner.
func (k *Keys) isOpen(of owner) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, open := k.open[of]
	return open && !key.ending
}

// another reports whether the key of an owner is open for another pod, or is
// being cleared.
func (k *Keys) another(of owner, podUID string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, open := k.open[of]
	return open && (key.ending || key.podUID != podUID)
}

// settle clears the key of an owner if its move waits for no pod any more: the
// replacement has come, or never will. It reports whether the key is open
// still.
func (k *Keys) settle(ctx context.Context, of owner) (open bool, err error) {
	k.mu.Lock()
	held, open := k.open[of]
	k.mu.Unlock()
	if !open || held.ending {
		return open, nil
	}
	move, known := k.moves.Get(held.podUID)
	if known && move.InFlight() && move.Replacement == "" && k.now().Before(held.until) {
		return true, nil
	}
	return false, k.end(ctx, of, held.podUID)
}

// end clears the key of an owner if this process has opened it for the move of
// a pod. While the API server is away the key expires instead.
func (k *Keys) end(ctx context.Context, of owner, podUID string) error {
	until, open := k.closes(of, podUID)
	if !open {
		return nil
	}
	defer k.closed(of)
	return k.erase(ctx, of, until)
}

// closes marks a key as ending. It returns until when it would have lasted, and
// whether it was open.
func (k *Keys) closes(of owner, podUID string) (until time.Time, open bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, open := k.open[of]
	if !open || key.ending || key.podUID != podUID {
		return time.Time{}, false
	}
	key.ending = true
	k.open[of] = key
	return key.until, true
}

func (k *Keys) closed(of owner) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.open, of)
}

// clear is end for a context that may be over, whose failure needs no mention:
// the key expires.
func (k *Keys) clear(ctx context.Context, of owner, podUID string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	_ = k.end(ctx, of, podUID)
}

// callTimeout bounds a call about a key.
const callTimeout = 5 * time.Second

// write sets the key of an owner.
func (k *Keys) write(ctx context.Context, of owner, to target) error {
	if err := k.leader.Leads(); err != nil {
		return fmt.Errorf("writing no key: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	steering := map[string]any{"targets": map[string]target{of.uid: to}}
	patch, err := json.Marshal(steering)
	if err != nil {
		return fmt.Errorf("encoding a key: %w", err)
	}
	object := k.client.Namespace(of.namespace)
	for range 2 { // somebody may delete it between the two calls
		_, err = object.Patch(ctx, objectName, types.MergePatchType, patch, metav1.PatchOptions{})
		if !apierrors.IsNotFound(err) {
			break
		}
		if err = create(ctx, object, steering); !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("writing the Steering of namespace %q: %w", of.namespace, err)
	}
	return nil
}

// create makes a Steering that has these fields.
func create(ctx context.Context, object dynamic.ResourceInterface, steering map[string]any) error {
	steering["apiVersion"], steering["kind"] = resource.GroupVersion().String(), "Steering"
	steering["metadata"] = map[string]any{"name": objectName}
	encoded, err := json.Marshal(steering)
	if err != nil {
		return fmt.Errorf("encoding a Steering: %w", err)
	}
	made := &unstructured.Unstructured{}
	if err := made.UnmarshalJSON(encoded); err != nil {
		return fmt.Errorf("encoding a Steering: %w", err)
	}
	_, err = object.Create(ctx, made, metav1.CreateOptions{})
	return err //nolint:wrapcheck // write says what for
}

// erase removes the key of an owner that lasts until then. Any other is of the
// process that leads by now, and stays.
func (k *Keys) erase(ctx context.Context, of owner, until time.Time) error {
	if err := k.leader.Leads(); err != nil {
		return fmt.Errorf("clearing no key: %w", err)
	}
	path := "/targets/" + Pointed(of.uid)
	patch, err := Encode(Step{"test", path + "/until", until}, Step{Op: "remove", Path: path})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err = k.client.Namespace(of.namespace).Patch(ctx, objectName, types.JSONPatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) { // it is none of ours
		return fmt.Errorf("clearing a key of namespace %q: %w", of.namespace, err)
	}
	return nil
}

// sweep deletes the Steerings in which every key has expired or been cleared, and
// of all others the keys that have expired. Nothing else collects them.
func (k *Keys) sweep(ctx context.Context) error {
	if err := k.leader.Leads(); err != nil {
		return fmt.Errorf("deleting no Steering: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, err := k.client.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + objectName})
	if err != nil {
		return fmt.Errorf("listing Steerings: %w", err)
	}
	now := k.now()
	for i := range list.Items {
		if object := &list.Items[i]; object.GetName() == objectName {
			err = errors.Join(err, k.tidy(ctx, object, now))
		}
	}
	return err
}

// tidy sweeps one Steering, as it was read.
func (k *Keys) tidy(ctx context.Context, steering *unstructured.Unstructured, now time.Time) error {
	targets, _, _ := unstructured.NestedMap(steering.Object, "targets")
	ended := map[string]any{}
	for uid := range targets {
		if !now.Before(endOf(targets, uid)) {
			ended[uid] = nil // as a merge patch removes it
		}
	}
	object, version := k.client.Namespace(steering.GetNamespace()), steering.GetResourceVersion()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": version}, "targets": ended})
	switch {
	case err != nil:
	case len(ended) == len(targets):
		err = object.Delete(ctx, objectName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}})
	case len(ended) > 0:
		_, err = object.Patch(ctx, objectName, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("tidying the Steering of namespace %q: %w", steering.GetNamespace(), err)
	}
	return nil
}

// ends returns when the keys of a Steering end, zero for one that cannot be
// read: it never has steered.
func ends(steering *unstructured.Unstructured) []time.Time {
	targets, _, _ := unstructured.NestedMap(steering.Object, "targets")
	all := make([]time.Time, 0, len(targets))
	for uid := range targets {
		all = append(all, endOf(targets, uid))
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

func endOf(targets map[string]any, uid string) time.Time {
	text, _, _ := unstructured.NestedString(targets, uid, "until")
	until, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return until
}

// settleAll is settle for all keys, and reports whether any is open still.
func (k *Keys) settleAll(ctx context.Context) (open bool) {
	k.mu.Lock()
	all := slices.Collect(maps.Keys(k.open))
	k.mu.Unlock()
	for _, of := range all {
		waits, err := k.settle(ctx, of)
		if err != nil {
			klog.FromContext(ctx).V(2).Info("A key was not cleared, so it expires", "namespace", of.namespace, "reason", err.Error())
		}
		open = open || waits
	}
	return open
}

// returned reports whether the newest replacement that has landed went back to
// where its pod was moved from.
func (k *Keys) returned() bool {
	inFlight, ended := k.moves.Moves()
	var newest *ledger.Move
	for _, all := range [][]ledger.Move{inFlight, ended} {
		for i := range all {
			if move := &all[i]; move.State == ledger.Landed && (newest == nil || move.Evicted.After(newest.Evicted)) {
				newest = move
			}
		}
	}
	return newest != nil && newest.Node == newest.From
}
