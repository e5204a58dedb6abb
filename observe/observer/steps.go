package observer

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// leastStep is the smallest step of the clock that counts, because small corrections may
// happen at any time.
const leastStep = 5 * time.Second

// steps detects steps of the clock between two samples.
type steps struct {
	now, local time.Time
	// back is the net amount by which steps have set the clock back; negative if they
	// have set it forward.
	back time.Duration
}

// next returns by how much the clock has stepped since the last call, and by how much the
// times of kept samples have to be shifted because of that. An apparent step forward may
// be time during which this machine slept, because the other clock does not count such
// time. Kept samples are then as old as they seem, so they are shifted only as far as the
// step undoes an earlier step back.
func (s *steps) next(now, local time.Time) (stepped, shift time.Duration) {
	last := *s
	s.now, s.local = now.Round(0), local
	if last.local.IsZero() {
		return 0, 0
	}
	stepped = s.now.Sub(last.now) - s.local.Sub(last.local)
	switch {
	case stepped.Abs() < leastStep:
		return 0, 0
	case stepped < 0:
		shift = stepped
	default:
		shift = min(stepped, max(s.back, 0))
	}
	s.back -= stepped
	return stepped, shift
}

// followClock keeps the ages of samples correct when the clock has stepped.
func (o *Observer) followClock(ctx context.Context) {
	if o.local == nil {
		return
	}
	stepped, shift := o.steps.next(o.now(), o.local())
	if stepped == 0 {
		return
	}
	klog.FromContext(ctx).Info("The clock stepped; known usage keeps its age unless the step was forward", "by", stepped, "shifted", shift)
	o.metrics.stepped(stepped)
	if shift == 0 {
		return
	}
	o.since = o.since.Add(shift) // since and first have no monotonic reading
	for _, m := range []*measuring{o.at, o.next} {
		if m == nil {
			continue
		}
		m.usage.Shift(shift)
		if !m.first.IsZero() {
			m.first = m.first.Add(shift)
		}
	}
}
