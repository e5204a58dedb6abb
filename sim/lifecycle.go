package sim

import (
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/sim/kubescheduler"
)

// evict ends a pod and has its replacement placed. It returns the replacement's node;
// empty if no node fits. Like the API server, it refuses evictions that a
// PodDisruptionBudget forbids.
func (w *world) evict(uid types.UID, now time.Time) (node string, err error) {
	i, ok := w.byUID[uid]
	if !ok {
		return "", errGone
	}
	if w.exhausted(w.replicas[i].Owner, now) {
		return "", apierrors.NewTooManyRequests("the PodDisruptionBudget allows no disruption", 0)
	}
	if err := w.depart(i, now); err != nil {
		return "", err
	}
	return w.replace(i, now, w.gap)
}

// depart ends a replica's pod and notifies the scheduler and the watcher.
func (w *world) depart(i int, now time.Time) error {
	r := &w.replicas[i]
	w.usage.leaves(r, now.Sub(w.began))
	old := r.pod
	if err := w.detach(i); err != nil {
		return err
	}
	leaving := new(*old)
	leaving.DeletionTimestamp = new(metav1.NewTime(now))
	w.notify(leaving)
	w.forget(old)
	return nil
}

// detach removes a replica's pod from its node.
func (w *world) detach(i int) error {
	r := &w.replicas[i]
	if err := w.scheduler.Remove(r.pod); err != nil {
		return err
	}
	pods := w.assigned[r.node]
	last := pods[len(pods)-1]
	pods[r.place] = last
	w.replicas[w.byUID[last.UID]].place = r.place
	w.assigned[r.node] = pods[:len(pods)-1]
	delete(w.byUID, r.pod.UID)
	delete(w.names, r.pod.Name)
	r.pod, r.node = nil, -1
	return nil
}

// replace creates a pod for a replica that has none, and has it placed. The pod begins to
// run after the time away. If no node fits, the pod waits.
func (w *world) replace(i int, now time.Time, away time.Duration) (string, error) {
	r := &w.replicas[i]
	if r.waiting == nil {
		r.waiting = w.create(i, now)
	}
	node, err := w.reserved, error(nil)
	if node == "" {
		node, err = w.scheduler.Place(r.waiting)
	}
	if errors.Is(err, kubescheduler.ErrUnschedulable) {
		r.waiting.Status.NominatedNodeName = "" // kube-scheduler withdraws the nomination
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if err := w.bind(i, r.waiting, node, now); err != nil {
		return "", err
	}
	w.runs(i, now, away)
	return node, nil
}

// create creates the next pod of a replica, and has a node nominated for it.
func (w *world) create(i int, now time.Time) *v1.Pod {
	pod := w.newPod(i, now)
	if w.watcher == nil {
		return pod
	}
	w.watcher.SetPod(pod)
	node := w.watcher.Nominates(pod)
	if node == "" {
		return pod
	}
	nominated := new(*pod) // watchers keep the pod as they have seen it
	nominated.Status.NominatedNodeName = node
	return nominated
}

// giveUp deletes a waiting pod of a replica, because its owner wants a different one.
func (w *world) giveUp(i int) {
	r := &w.replicas[i]
	if r.waiting == nil {
		return
	}
	w.forget(r.waiting)
	w.scaledDown(r.waiting)
	r.waiting = nil
}
