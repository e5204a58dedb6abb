package safeguards

import (
	"fmt"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// budget is an hourly bound.
type budget struct {
	reason reasons.Reason
	limit  int
}

// evictedAt is when a move's pod was evicted, as far as is known; zero where it
// was not.
func evictedAt(move *ledger.Move) time.Time {
	switch move.State {
	case ledger.Evicted, ledger.Booked, ledger.Landed:
		if move.Evicted.IsZero() {
			return move.Recorded
		}
	case ledger.Intended, ledger.Cancelled, ledger.Expired:
	}
	return move.Evicted
}

// spend counts a move against the budgets of the hour.
func (v *Verdict) spend(move *ledger.Move) {
	at := evictedAt(move)
	intended := at.IsZero() && move.State == ledger.Intended
	if !intended && !within(at, v.now, time.Hour) {
		return
	}
	budgets := []*hour{&v.all, entry(v.namespaces, move.Namespace), entry(v.pools, move.Pool)}
	if owner := v.ownerOf(move); owner != nil {
		budgets = append(budgets, &owner.hour)
	}
	if intended {
		v.before[move.PodUID] = v.intended(&move.Intent)
		for _, h := range budgets {
			h.intended++
		}
		return
	}
	v.evictions = append(v.evictions, at)
	for _, h := range budgets {
		if h.evicted++; h.evicted == 1 || at.Before(h.oldest) {
			h.oldest = at
		}
	}
}

// intended counts what is recorded so far and shares a budget with an intent.
func (v *Verdict) intended(intent *ledger.Intent) counts {
	c := counts{all: v.all.intended}
	if h := v.namespaces[intent.Namespace]; h != nil {
		c.namespace = h.intended
	}
	if h := v.pools[intent.Pool]; h != nil {
		c.pool = h.intended
	}
	if o := v.owners[intent.Owner.UID]; o != nil {
		c.owner = o.intended
	}
	return c
}

// refuses reports whether a budget is used up, with as many intended moves
// counted as given.
func (b budget) refuses(h *hour, intended int) (reasons.Reason, string) {
	if h == nil || b.limit == 0 || h.evicted+intended < b.limit {
		return "", ""
	}
	detail := fmt.Sprintf("%d moves within the hour, at most %d", h.evicted+intended, b.limit)
	if h.evicted > 0 {
		detail += "; the next not before " + stamp(h.oldest.Add(time.Hour))
	}
	return b.reason, detail
}

// freeAgain is when the hour allows a move again, once it is used up; zero
// where that depends on moves yet to be made.
func (v *Verdict) freeAgain() time.Time {
	excess := v.all.evicted + v.all.intended - v.config.MaxPerHour
	if v.config.MaxPerHour == 0 || excess < 0 || excess >= len(v.evictions) {
		return time.Time{}
	}
	slices.SortFunc(v.evictions, time.Time.Compare)
	return v.evictions[excess].Add(time.Hour)
}

// entry returns what a map holds for a key, making it.
func entry[T any](all map[string]*T, key string) *T {
	if all[key] == nil {
		all[key] = new(T)
	}
	return all[key]
}

func (v *Verdict) ownerOf(move *ledger.Move) *owner {
	if move.Owner.UID == "" {
		return nil
	}
	return entry(v.owners, move.Owner.UID)
}
