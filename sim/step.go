package sim

import "time"

// advance begins a step and removes the pods whose lifetime ended with the previous step.
func (w *world) advance(step int) error {
	w.step, w.began = step, w.start.Add(time.Duration(step)*Step)
	w.now = w.began
	for i := range w.replicas {
		r := &w.replicas[i]
		r.demand, r.from, r.since = r.Replica.Demand(step), max(0, r.from-Step), 0
		if r.Until != step || step == 0 {
			continue
		}
		w.giveUp(i)
		if r.node < 0 {
			continue
		}
		w.scaledDown(r.pod)
		if err := w.depart(i, w.began); err != nil {
			return err
		}
	}
	return nil
}

// proceed begins a step and advances to a time within it.
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

// pending places the pods of replicas that begin in this step, and retries pods that did
// not fit before.
func (w *world) pending(now time.Time) error {
	for i := range w.replicas {
		r := &w.replicas[i]
		if r.node >= 0 || !r.Lives(w.step) {
			continue
		}
		away := w.gap
		if r.From == w.step && w.step > 0 {
			away = 0 // its usage already begins at the right time
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
