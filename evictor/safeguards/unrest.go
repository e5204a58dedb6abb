package safeguards

import (
	"maps"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
)

// Stir describes the changes that others are making to the cluster at one point in time.
type Stir struct {
	// Nodes is the number of nodes. Draining holds, by name, the nodes that are being
	// cordoned, drained or deleted, with the time at which that began; zero if unknown.
	Nodes    int
	Draining map[string]time.Time
	// Pods is the number of pods. Waiting holds the pods for which kube-scheduler has
	// found no node.
	Pods    int
	Waiting []Waiting
}

// Waiting is a pod that has been waiting for a node since it was created.
type Waiting struct {
	Whose
	Name  string
	Since time.Time
}

// Unrest tracks the changes that others make to the cluster, so that evicting stands back
// in the meantime. It counts only changes that have begun within the duration of a
// stand-back, because some clusters never stop changing. The zero value is ready for use.
// It must not be used concurrently.
type Unrest struct {
	seen time.Time
	stir Stir
	// memory outlives the process, so that a new process does not stand back again for
	// the same wave of changes.
	memory ledger.Unrest
	// draining and rush are the current counts.
	draining int
	rush     trouble
}

const (
	unrestEvery = 15 * time.Second
	// One node or a few pods are not unrest, no matter how small the cluster is.
	minDraining = 2
	minWaiting  = 5
	// rushRests is the length of the calm after a rush of pods, as a multiple of the
	// duration of a stand-back, before the next rush counts. It is needed because tenants
	// can cause a rush at any time.
	rushRests = 5
)

// Due reports whether it is time to observe again.
func (u *Unrest) Due(now time.Time) bool {
	age := now.Sub(u.seen)
	return u.seen.IsZero() || age < 0 || age >= unrestEvery
}

// Recall restores what an earlier process has observed. It must be called before the
// first Observe.
func (u *Unrest) Recall(memory ledger.Unrest) { u.memory = memory }

// Memory returns the state that a later process passes to Recall.
func (u *Unrest) Memory() ledger.Unrest { return u.memory }

// Observe records the current changes by others, using the limits of a Breaker.
func (u *Unrest) Observe(stir Stir, b *Breaker, now time.Time) {
	u.seen, u.stir = now, stir
	u.draining = u.newlyDraining(b.StandBack, now)
	u.memory.Draining = next(u.memory.Draining, now, b.StandBack,
		u.draining >= minDraining && share(u.draining, stir.Nodes) > b.MaxDrainingPercent)
	u.rush = trouble{}
	for _, pod := range stir.Waiting {
		if within(pod.Since, now, b.StandBack) {
			u.rush.add(pod.Whose, pod.Namespace+"/"+pod.Name)
		}
	}
	limit := max(minWaiting-1, percent(b.MaxUnschedulablePercent, stir.Pods))
	u.memory.Waiting = next(u.memory.Waiting, now, rushRests*b.StandBack, u.rush.everybodys(limit))
}

// newlyDraining counts the nodes whose draining began within the duration of a
// stand-back. If the API server does not state when it began, the time at which the node
// was first seen draining counts. Nodes that are already draining at the very first look
// do not count, because they may have been draining for years.
func (u *Unrest) newlyDraining(standBack time.Duration, now time.Time) (n int) {
	first := map[string]time.Time{}
	for name, since := range u.stir.Draining {
		if since.IsZero() {
			seen, known := u.memory.Nodes[name]
			if !known && u.memory.Looked {
				seen = now
			}
			first[name], since = seen, seen
		}
		if within(since, now, standBack) {
			n++
		}
	}
	u.memory.Looked = true
	if !maps.EqualFunc(u.memory.Nodes, first, time.Time.Equal) {
		u.memory.Nodes = first
	}
	return n
}

// next updates a spell of unrest. A new spell begins only after a calm of the given
// length, so that recurring unrest cannot stop evicting indefinitely.
func next(s ledger.Spell, now time.Time, calm time.Duration, tooMany bool) ledger.Spell {
	if !known(s.Began, now) || !s.Calm.IsZero() && !within(s.Calm, now, calm) {
		s = ledger.Spell{}
	}
	switch {
	case tooMany && s.Began.IsZero():
		s.Began = now
	case tooMany:
		s.Calm = time.Time{}
	case !s.Began.IsZero() && s.Calm.IsZero():
		s.Calm = now
	}
	return s
}

// closes reports whether to stand back.
func closes(s ledger.Spell, now time.Time, standBack time.Duration) bool {
	return s.Calm.IsZero() && within(s.Began, now, standBack)
}

func share[N int | float64](part N, whole int) float64 {
	return 100 * float64(part) / float64(max(whole, 1))
}
