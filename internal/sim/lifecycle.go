package sim

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/internal/sim/kubescheduler"
)

// errGone says that a pod is not there any more.
var errGone = errors.New("the pod is gone")

// evict ends a pod and has its replacement placed. It returns the node of the replacement, empty where none fits. As the API
// server it refuses what a PodDisruptionBudget forbids.
func (w *world) evict(uid types.UID, now time.Time) (node string, err error) {
	i, ok := w.byUID[uid]
	if !ok {
		return "", errGone
	}
	if w.spent(w.replicas[i].Owner, now) {
		return "", apierrors.NewTooManyRequests("the PodDisruptionBudget has no room", 0)
	}
	if err := w.depart(i, now); err != nil {
		return "", err
	}
	return w.replace(i, now, w.gap)
}

// depart ends a replica's pod, and everybody is told.
func (w *world) depart(i int, now time.Time) error {
	r := &w.replicas[i]
	w.usage.leaves(r, now.Sub(w.began))
	old := r.pod
	if err := w.detach(i); err != nil {
		return err
	}
	leaving := new(*old)
	leaving.DeletionTimestamp = new(metav1.NewTime(now))
	w.tell(leaving)
	w.forget(old)
	return nil
}

// detach takes a replica's pod off its node.
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

// replace has a pod placed for a replica that has none, which runs some time after. Where it fits nowhere it waits.
func (w *world) replace(i int, now time.Time, away time.Duration) (string, error) {
	r := &w.replicas[i]
	if r.waiting == nil {
		r.waiting = w.newPod(i, now)
		w.tell(r.waiting)
	}
	node, err := w.scheduler.Place(r.waiting)
	if errors.Is(err, kubescheduler.ErrUnschedulable) {
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

// advance begins a step: what ends with the one before goes.
func (w *world) advance(step int) error {
	w.step, w.began = step, w.start.Add(time.Duration(step)*Step)
	w.now = w.began
	for i := range w.replicas {
		r := &w.replicas[i]
		r.demand, r.last, r.from, r.since = r.Replica.Demand(step), r.demand, max(0, r.from-Step), 0
		if r.Until != step || step == 0 {
			continue
		}
		w.giveUp(i)
		if r.node < 0 {
			continue
		}
		if w.watcher != nil {
			w.watcher.ScaledDown(ownerOf(r.pod), 1)
		}
		if err := w.depart(i, w.began); err != nil {
			return err
		}
	}
	return nil
}

// proceed begins a step and brings it to a time in it.
func (w *world) proceed(step int, now time.Time) error {
	if err := w.advance(step); err != nil {
		return err
	}
	w.now = now
	if err := w.pending(now); err != nil {
		return err
	}
	return w.until(now)
}

// pending places the pods of replicas that begin with this step, and tries to place those that fitted nowhere before.
func (w *world) pending(now time.Time) error {
	for i := range w.replicas {
		r := &w.replicas[i]
		if r.node >= 0 || !r.Lives(w.step) {
			continue
		}
		away := w.gap
		if r.From == w.step && w.step > 0 {
			away = 0 // its usage says when it began
		}
		if _, err := w.replace(i, now, away); err != nil {
			return err
		}
		if away == 0 {
			r.from = 0
		}
	}
	return nil
}
