package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/sim/kubescheduler"
)

// surgePercent is the percentage of an owner's pods that a rollout creates before it
// removes as many old ones. It is a Deployment's default.
const surgePercent = 25

// until advances the time and the rollouts. Steps of rollouts that were due in between
// happen now.
func (w *world) until(now time.Time) error {
	for {
		r := w.dueBy(now)
		if r == nil {
			w.reach(now)
			return nil
		}
		w.reach(r.due)
		if w.watcher != nil {
			w.watcher.Passed(w.now)
		}
		if err := w.roll(r); err != nil {
			return fmt.Errorf("rolling out version %d of owner %d: %w", r.template, r.owner, err)
		}
	}
}

// dueBy removes and returns the first rollout that continues or begins at the given time
// or earlier; nil if there is none.
func (w *world) dueBy(now time.Time) *rollout {
	next := -1
	for k := range w.rollouts {
		if next < 0 || w.rollouts[k].due.Before(w.rollouts[next].due) {
			next = k
		}
	}
	begins := len(w.deploys) > 0 && (next < 0 || !w.start.Add(w.deploys[0].At).After(w.rollouts[next].due))
	switch {
	case begins && !w.start.Add(w.deploys[0].At).After(now):
		d := w.deploys[0]
		w.deploys = w.deploys[1:]
		return w.begin(d)
	case !begins && next >= 0 && !w.rollouts[next].due.After(now):
		r := w.rollouts[next]
		w.rollouts = slices.Delete(w.rollouts, next, next+1)
		return r
	}
	return nil
}

// begin begins a rollout. It ends any unfinished rollout of the same owner.
func (w *world) begin(d Deploy) *rollout {
	o := &w.owners[d.Owner]
	w.rollouts = slices.DeleteFunc(w.rollouts, func(r *rollout) bool { return r.owner == d.Owner })
	o.template++
	o.rolling, o.rolled = true, slices.MaxFunc([]time.Time{w.now, w.start.Add(d.At)}, time.Time.Compare)
	left := slices.DeleteFunc(slices.Clone(o.replicas), func(i int) bool { return w.replicas[i].Fixed }) // these stay where they are
	return &rollout{due: w.start.Add(d.At), owner: d.Owner, template: o.template, left: left}
}

// newcomer is a pod that runs next to the pod that it will replace.
type newcomer struct {
	replica int
	pod     *v1.Pod
}

// roll replaces the next pods of a rollout: it places new pods while the old ones exist,
// and removes the old ones when the new ones are ready. At that moment, the demand passes
// from the old pods to the new ones.
func (w *world) roll(r *rollout) error {
	o := &w.owners[r.owner]
	r.left = slices.DeleteFunc(r.left, func(i int) bool { return !w.replicas[i].Lives(w.step) })
	surge := int(math.Ceil(surgePercent / 100.0 * float64(w.wanted(r.owner))))
	batch, remaining := r.left[:min(surge, len(r.left))], r.left[min(surge, len(r.left)):]
	newcomers, waiting, err := w.surge(batch)
	if err != nil {
		return err
	}
	if err := w.takeOver(newcomers); err != nil {
		return err
	}
	w.deployed += len(batch) - len(waiting)
	r.left = append(waiting, remaining...)
	if o.rolling = len(r.left) > 0; !o.rolling {
		return nil
	}
	if r.due = w.now.Add(w.gap); len(waiting) == len(batch) {
		r.due = w.now.Add(Step) // nothing fits until a pod leaves
	}
	w.rollouts = append(w.rollouts, r)
	return nil
}

// surge places new pods of replicas next to their old ones. It also fills replicas that
// have no pod. waiting lists replicas whose new pod fits on no node.
func (w *world) surge(batch []int) (newcomers []newcomer, waiting []int, err error) {
	for _, i := range batch {
		if w.replicas[i].node < 0 {
			w.giveUp(i)
			if _, err := w.replace(i, w.now, w.gap); err != nil {
				return nil, nil, err
			}
			continue
		}
		pod := w.create(i, w.now)
		node, err := w.scheduler.Place(pod)
		if errors.Is(err, kubescheduler.ErrUnschedulable) {
			w.forget(pod)
			waiting = append(waiting, i)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if pod, err = w.land(pod, node, w.now); err != nil {
			return nil, nil, err
		}
		newcomers = append(newcomers, newcomer{replica: i, pod: pod})
	}
	return newcomers, waiting, nil
}

// takeOver replaces old pods with the new ones.
func (w *world) takeOver(newcomers []newcomer) error {
	for _, n := range newcomers {
		w.scaledDown(w.replicas[n.replica].pod)
		if err := w.depart(n.replica, w.now); err != nil {
			return err
		}
		w.seat(n.replica, n.pod, w.now)
		w.runs(n.replica, w.now, 0)
	}
	return nil
}
