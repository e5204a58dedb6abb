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

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/ledger"
)

// Leader reports whether this process leads.
type Leader interface {
	// Leads returns why this process must not change anything any longer.
	Leads() error
}

// Keys writes the keys of pods that are to be steered when they are created. A key is a
// lease: it ends after keyLasts unless the leader renews it. The leader does so for as
// long as a move in the ledger waits for the pod. Only the process that evicts writes
// keys. It is safe for concurrent use.
type Keys struct {
	client dynamic.NamespaceableResourceInterface
	moves  *ledger.Ledger
	leader Leader
	now    func() time.Time

	mu sync.Mutex
	// open holds the keys that this process has set or taken over and has not cleared.
	// used is true if there has ever been one.
	open map[keyID]key
	used bool
	// differs is true if the API server's version of a key differs from what this process knows.
	differs bool
}

const (
	// keyLasts is how long a key steers without being renewed. Keys must not outlive the
	// leader by much: if all our replicas are down, a held pod waits until one is back,
	// and nothing releases a pod that is restricted to node names.
	keyLasts = 10 * time.Second
	// renewBelow is the remaining time of a key below which it is renewed.
	renewBelow = 6 * time.Second
)

// keyID identifies a key by the namespace of its Steering and its name there.
type keyID struct{ namespace, name string }

// idOf returns the key of a controller's next pod. A StatefulSet gives a replacement the
// name of the pod that it replaces, so its key is only for a pod of that name. The names
// of other controllers' pods are not known in advance.
func idOf(namespace, ownerKind, ownerUID, pod string) keyID {
	if ownerKind == "StatefulSet" {
		return keyID{namespace, ownerUID + "/" + pod}
	}
	return keyID{namespace, ownerUID}
}

// idOfMove returns the key of a move's replacement.
func idOfMove(move *ledger.Intent) keyID {
	return idOf(move.Namespace, move.Owner.Kind, move.Owner.UID, move.Pod)
}

// idOfPod returns the key that steers a pod. It returns false for a pod without a controller.
func idOfPod(pod *v1.Pod) (keyID, bool) {
	by := metav1.GetControllerOfNoCopy(pod)
	if by == nil {
		return keyID{}, false
	}
	return idOf(pod.Namespace, by.Kind, string(by.UID), pod.Name), true
}

// key is an open key.
type key struct {
	podUID string // UID of the pod that is moved
	until  time.Time
	// changing is true while the key is being renewed or cleared. No other key of this
	// name must be set in the meantime, because clearing would also remove it.
	changing bool
	// inherited is true if an earlier leader has set the key.
	inherited bool
}

var (
	// errTaken means that the key belongs to another move. Two moves share a key if the
	// controller does not choose the names of its pods, because such pods cannot be told
	// apart at admission.
	errTaken = errors.New("another move of the owner has its key")
	// errFull means that a namespace has as many keys as its Steering can hold.
	errFull = errors.New("the namespace has as many open moves as can be steered at once")
)

// NewKeys returns Keys for the moves of a ledger. This process writes and clears keys
// only while it leads.
func NewKeys(client dynamic.Interface, moves *ledger.Ledger, leader Leader, now func() time.Time) *Keys {
	return &Keys{client: client.Resource(resource), moves: moves, leader: leader, now: now, open: map[keyID]key{}}
}

// set opens a key for the move of a pod, unless another move has the key or the namespace is full.
func (k *Keys) set(ctx context.Context, of keyID, podUID string, to target) error {
	err := k.take(of, podUID, to.Until)
	if errors.Is(err, errFull) { // some keys may have ended
		k.settleAll(ctx)
		err = k.take(of, podUID, to.Until)
	}
	if err != nil {
		return err
	}
	if err := k.write(ctx, of, to); err != nil {
		k.clear(ctx, of, podUID) // the API server may have written it nevertheless
		return err
	}
	return nil
}

// take records an open key. Keys that have ended count until they are cleared, because the Steering still holds them.
func (k *Keys) take(of keyID, podUID string, until time.Time) error {
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
	case open.changing, taken && open.podUID != podUID && k.now().Before(open.until):
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

// isOpen reports whether this process has opened a key.
func (k *Keys) isOpen(of keyID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, open := k.open[of]
	return open
}

// another reports whether a key is open for the move of another pod, or is being changed.
func (k *Keys) another(of keyID, podUID string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, open := k.open[of]
	return open && (key.changing || key.podUID != podUID)
}

// settle clears a key if its move no longer waits for a pod, because the replacement has come or never will. It reports
// whether the key is still open.
func (k *Keys) settle(ctx context.Context, of keyID) (open bool, err error) {
	k.mu.Lock()
	held, open := k.open[of]
	k.mu.Unlock()
	if !open || held.changing {
		return open, nil
	}
	if _, waits := k.waits(of, held); waits {
		return true, nil
	}
	return false, k.end(ctx, of, held.podUID)
}

// waits reports whether a key is still needed, and until when it may be renewed; zero if
// it must not be renewed. Both results depend on the move in the ledger.
func (k *Keys) waits(of keyID, held key) (renewable time.Time, waits bool) {
	now := k.now()
	if of.namespace == probeNamespace { // the key belongs to no move, and the Probe clears it
		return time.Time{}, now.Before(held.until)
	}
	move, known := k.moves.Get(held.podUID)
	switch {
	case !known || !move.InFlight() || move.Replacement != "":
		return time.Time{}, false
	case move.Due(now):
		return move.Expires(), true
	}
	return time.Time{}, now.Before(held.until) // the pod is about to be evicted, or will not be evicted
}

// end clears a key if this process has opened it for the move of a pod. If the API server is unreachable, the key
// expires instead.
func (k *Keys) end(ctx context.Context, of keyID, podUID string) error {
	held, open := k.change(of, podUID)
	if !open {
		return nil
	}
	defer k.closed(of)
	return k.erase(ctx, of, held.until)
}

// change marks a key as changing. It returns the key, and whether it was open for the move of that pod.
func (k *Keys) change(of keyID, podUID string) (held key, open bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	held, open = k.open[of]
	if !open || held.changing || held.podUID != podUID {
		return key{}, false
	}
	marked := held
	marked.changing = true
	k.open[of] = marked
	return held, true
}

func (k *Keys) closed(of keyID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.open, of)
}

// renew extends a key with little time left by another keyLasts, but not beyond the end of its move.
func (k *Keys) renew(ctx context.Context, of keyID) error {
	k.mu.Lock()
	held := k.open[of]
	k.mu.Unlock()
	end, waits := k.waits(of, held)
	now := k.now()
	until := now.Add(keyLasts)
	if end.Before(until) {
		until = end
	}
	until = until.Truncate(time.Second)
	if !waits || held.changing || held.until.Sub(now) > renewBelow || !until.After(held.until) {
		return nil
	}
	return k.extend(ctx, of, held.podUID, until)
}

// extend changes the time at which a key ends. If the API server's version of a key differs from this process's, the
// key no longer belongs to this process.
func (k *Keys) extend(ctx context.Context, of keyID, podUID string, until time.Time) error {
	held, open := k.change(of, podUID)
	if !open {
		return nil
	}
	path := "/targets/" + EscapePointer(of.name) + "/until"
	err := k.patch(ctx, of, Step{"test", path, held.until}, Step{"replace", path, until})
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case apierrors.IsNotFound(err), apierrors.IsInvalid(err):
		delete(k.open, of)
		k.differs = true
		return nil
	case err == nil:
		held.until = until
	}
	k.open[of] = held
	return err
}

// suspend makes all keys that this process has opened stop steering. The keys are kept
// for the process that takes over their moves.
func (k *Keys) suspend(ctx context.Context) {
	k.settleAll(ctx)
	past := k.now().Add(-keyLasts).Truncate(time.Second) // past by any clock
	for of, held := range k.all() {
		if err := k.extend(ctx, of, held.podUID, past); err != nil {
			klog.FromContext(ctx).V(2).Info("A key was not ended, so it expires", "namespace", of.namespace, "reason", err.Error())
		}
	}
	k.forget()
}

// forget drops the keys when this process does not lead, because another process now renews or clears them.
func (k *Keys) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.open, func(_ keyID, held key) bool { return !held.changing })
}

// differ reports whether a key in the API server was found to differ from this process's,
// since the keys were last read.
func (k *Keys) differ() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.differs
}

// all returns the open keys.
func (k *Keys) all() map[keyID]key {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.open)
}

// clear is like end, for a context that may have ended. It reports no failure, because the key expires anyway.
func (k *Keys) clear(ctx context.Context, of keyID, podUID string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	_ = k.end(ctx, of, podUID)
}

// callTimeout is how long a call about a key may take.
const callTimeout = 5 * time.Second

// write sets a key.
func (k *Keys) write(ctx context.Context, of keyID, to target) error {
	if err := k.leader.Leads(); err != nil {
		return fmt.Errorf("writing no key: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	steering := map[string]any{"targets": map[string]target{of.name: to}}
	patch, err := json.Marshal(steering)
	if err != nil {
		return fmt.Errorf("encoding a key: %w", err)
	}
	object := k.client.Namespace(of.namespace)
	for range 2 { // the Steering may be deleted between the two calls
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

// create makes a Steering with these fields.
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
	return err //nolint:wrapcheck // write adds the context
}

// erase removes a key that ends at the given time. A key that ends at another time belongs to the current leader, and
// stays.
func (k *Keys) erase(ctx context.Context, of keyID, until time.Time) error {
	path := "/targets/" + EscapePointer(of.name)
	err := k.patch(ctx, of, Step{"test", path + "/until", until}, Step{Op: "remove", Path: path})
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) { // the key is not ours
		return nil
	}
	return err
}

// patch changes the Steering that contains a key.
func (k *Keys) patch(ctx context.Context, of keyID, steps ...Step) error {
	if err := k.leader.Leads(); err != nil {
		return fmt.Errorf("changing no key: %w", err)
	}
	patch, err := Encode(steps...)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err = k.client.Namespace(of.namespace).Patch(ctx, objectName, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("changing a key of namespace %q: %w", of.namespace, err)
	}
	return nil
}

// sweep takes over the keys of moves in flight, regardless of which process has set them, and clears all others,
// because no move needs them.
func (k *Keys) sweep(ctx context.Context) error {
	if err := k.leader.Leads(); err != nil {
		return fmt.Errorf("clearing no keys: %w", err)
	}
	k.mu.Lock()
	k.differs = false
	k.mu.Unlock()
	listing, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	list, err := k.client.List(listing, metav1.ListOptions{FieldSelector: "metadata.name=" + objectName})
	if err != nil {
		return fmt.Errorf("listing Steerings: %w", err)
	}
	due := map[keyID][]ledger.Move{}
	for _, move := range k.moves.InFlight() {
		if of := idOfMove(&move.Intent); move.Due(k.now()) {
			due[of] = append(due[of], move)
		}
	}
	for i := range list.Items {
		if object := &list.Items[i]; object.GetName() == objectName {
			err = errors.Join(err, k.tidy(ctx, object, due))
		}
	}
	k.settleAll(ctx)
	return err
}

// tidy sweeps one Steering in the state in which it was read.
func (k *Keys) tidy(ctx context.Context, steering *unstructured.Unstructured, due map[keyID][]ledger.Move) error {
	targets, _, _ := unstructured.NestedMap(steering.Object, "targets")
	left := map[string]any{}
	for name := range targets {
		of := keyID{steering.GetNamespace(), name}
		if !k.isOpen(of) && !k.takeOver(of, due[of], targets) {
			left[name] = nil // null removes it in a merge patch
		}
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	object, version := k.client.Namespace(steering.GetNamespace()), steering.GetResourceVersion()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": version}, "targets": left})
	switch {
	case err != nil:
	case len(left) == len(targets):
		err = object.Delete(ctx, objectName, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}})
	case len(left) > 0:
		_, err = object.Patch(ctx, objectName, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("tidying the Steering of namespace %q: %w", steering.GetNamespace(), err)
	}
	return nil
}

// takeOver opens a key that an earlier leader has set for one of these moves. It returns false if none of these moves
// has the key's node as its destination, because the key was then for an earlier move.
func (k *Keys) takeOver(of keyID, due []ledger.Move, targets map[string]any) bool {
	nodes, _, _ := unstructured.NestedStringSlice(targets, of.name, "nodes")
	until := endOf(targets, of.name)
	if len(nodes) == 0 || until.IsZero() {
		return false
	}
	i := slices.IndexFunc(due, func(move ledger.Move) bool { return move.To == nodes[0] })
	if i < 0 {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, open := k.open[of]; !open {
		k.open[of], k.used = key{podUID: due[i].PodUID, until: until, inherited: true}, true
	}
	return true
}

// ends returns when the keys of a Steering end; zero for an unreadable one, which has never steered.
func ends(steering *unstructured.Unstructured) []time.Time {
	targets, _, _ := unstructured.NestedMap(steering.Object, "targets")
	all := make([]time.Time, 0, len(targets))
	for name := range targets {
		all = append(all, endOf(targets, name))
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

func endOf(targets map[string]any, name string) time.Time {
	text, _, _ := unstructured.NestedString(targets, name, "until")
	until, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return until
}

// settleAll settles all keys and renews those that are still needed. It reports whether any key that this process
// itself has set is open.
func (k *Keys) settleAll(ctx context.Context) (open bool) {
	for of, held := range k.all() {
		waits, err := k.settle(ctx, of)
		if err == nil && waits {
			err = k.renew(ctx, of)
		}
		if err != nil {
			klog.FromContext(ctx).V(2).Info("A key was not changed, so it expires", "namespace", of.namespace, "reason", err.Error())
		}
		open = open || waits && !held.inherited
	}
	return open
}

// returned reports whether the newest replacement that has landed went back to the node from which its pod was moved. A
// replacement that was created with a node proves nothing, because it could not be steered.
func (k *Keys) returned() bool {
	inFlight, ended := k.moves.Moves()
	var newest *ledger.Move
	for _, all := range [][]ledger.Move{inFlight, ended} {
		for i := range all {
			if move := &all[i]; move.State == ledger.Landed && !move.CameBound && (newest == nil || move.Evicted.After(newest.Evicted)) {
				newest = move
			}
		}
	}
	return newest != nil && newest.Node == newest.From
}
