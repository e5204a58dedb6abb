package safeguards

import "time"

// Stir is what others do to the cluster at one time.
type Stir struct {
	// Nodes counts the nodes, Draining those that are cordoned, drained or
	// being deleted.
	Nodes, Draining int
	// Pods counts the pods, Waiting those for which kube-scheduler has found no
	// node.
	Pods, Waiting int
}

// Unrest follows what others do to the cluster, to stand back meanwhile: for a
// bounded time, because some clusters are never at rest. The zero value is
// ready for use. It must not be used concurrently.
type Unrest struct {
	seen              time.Time
	stir              Stir
	draining, waiting spell
	hour              []minute // oldest first
}

// spell is a time in which there are, now and then, too many of something. One
// begins anew only after as long a calm as was stood back, so that who comes and
// goes cannot stop evicting for ever.
type spell struct {
	began, calm time.Time // zero for not
}

// minute is how many pods waited in a minute.
type minute struct {
	at      time.Time
	waiting int
}

const (
	unrestEvery = 15 * time.Second
	// One node or a few pods are no unrest, however small the cluster.
	minDraining = 2
	minWaiting  = 5
)

// Due reports whether it is time to observe again.
func (u *Unrest) Due(now time.Time) bool {
	age := now.Sub(u.seen)
	return u.seen.IsZero() || age < 0 || age >= unrestEvery
}

// Observe notes what others do now. Too many are more than maxDraining percent
// of the nodes, and waiting pods that are more than in the hour before by
// maxWaiting percent of all pods.
func (u *Unrest) Observe(stir Stir, maxDraining, maxWaiting float64, standBack time.Duration, now time.Time) {
	u.seen, u.stir = now, stir
	u.draining = u.draining.next(now, standBack, stir.Draining >= minDraining && share(stir.Draining, stir.Nodes) > maxDraining)
	more := float64(stir.Waiting) - u.before(now)
	u.waiting = u.waiting.next(now, standBack, more >= minWaiting && share(more, stir.Pods) > maxWaiting)
	if n := len(u.hour); n == 0 || now.Sub(u.hour[n-1].at) >= time.Minute {
		u.hour = append(u.hour, minute{now, stir.Waiting})
	}
}

// before is how many pods waited in the hour before, on average: as many as now
// if nobody has looked.
func (u *Unrest) before(now time.Time) float64 {
	for len(u.hour) > 0 && !within(u.hour[0].at, now, time.Hour) {
		u.hour = u.hour[1:]
	}
	if len(u.hour) == 0 {
		return float64(u.stir.Waiting)
	}
	sum := 0
	for _, m := range u.hour {
		sum += m.waiting
	}
	return float64(sum) / float64(len(u.hour))
}

func (s spell) next(now time.Time, standBack time.Duration, tooMany bool) spell {
	calm := !s.calm.IsZero() && !within(s.calm, now, standBack)
	switch {
	case s.began.After(now) || calm:
		s = spell{}
	case !tooMany && s.calm.IsZero():
		s.calm = now
	}
	if tooMany {
		if s.began.IsZero() {
			s.began = now
		}
		s.calm = time.Time{}
	}
	return s
}

// closes reports whether to stand back.
func (s spell) closes(now time.Time, standBack time.Duration) bool {
	return s.calm.IsZero() && within(s.began, now, standBack)
}

func share[N int | float64](part N, whole int) float64 {
	return 100 * float64(part) / float64(max(whole, 1))
}
