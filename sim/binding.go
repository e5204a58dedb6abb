package sim

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// bind binds a replica's pod to a node.
func (w *world) bind(i int, pod *v1.Pod, name string, at time.Time) error {
	bound, err := w.land(pod, name, at)
	if err != nil {
		return err
	}
	w.seat(i, bound, at)
	return nil
}

// land puts a pod on a node and notifies the scheduler and the watcher.
func (w *world) land(pod *v1.Pod, name string, at time.Time) (*v1.Pod, error) {
	bound := new(*pod) // the rest is shared and read-only
	bound.Spec.NodeName = name
	bound.ResourceVersion += ".1"
	bound.Status = v1.PodStatus{Phase: v1.PodRunning, StartTime: new(metav1.NewTime(at)), Conditions: isReady}
	if err := w.scheduler.Add(bound); err != nil {
		return nil, err
	}
	w.notify(bound)
	return bound, nil
}

// isReady is shared by all pods and must not be changed.
var isReady = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}

// seat makes a bound pod the current pod of a replica.
func (w *world) seat(i int, bound *v1.Pod, at time.Time) {
	r := &w.replicas[i]
	r.pod, r.node, r.waiting, r.born = bound, w.index[bound.Spec.NodeName], nil, at
	r.place = len(w.assigned[r.node])
	w.assigned[r.node] = append(w.assigned[r.node], bound)
	w.byUID[bound.UID], w.names[bound.Name] = i, i
}

// runs sets when the newly bound pod of a replica begins to use its demand.
func (w *world) runs(i int, now time.Time, away time.Duration) {
	r := &w.replicas[i]
	r.away, r.ready, r.from = away, now.Add(away), now.Sub(w.began)+away
}
