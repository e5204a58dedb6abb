package safeguards

import (
	"fmt"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

const (
	// LeastPerHour is the minimum of a percentage bound for all pods, because a hot node
	// in a small cluster needs as many moves as one in a large cluster.
	LeastPerHour = 50
	// LeastPerHourOfOwner is the minimum of a percentage bound for the pods of one owner.
	LeastPerHourOfOwner = 2
	// mostPerHour is the maximum of a percentage bound, because with more moves the
	// ledger would forget some of them within the hour.
	mostPerHour = ledger.DefaultKeepEnded
)

// budget is an hourly bound; a limit of 0 means unlimited.
type budget struct {
	reason reasons.Reason
	limit  int
	// share reports whether the limit is a percentage of pods.
	share bool
	// of is the limit on all moves, if a namespace's limit is derived from it; 0 for an
	// independent limit.
	of int
}

func (v *Verdict) budget(p party) budget {
	c := v.config
	switch p.scope {
	case ofOwner:
		return budget{reason: reasons.OwnerMovesPerHour, share: c.MaxPercentPerHourOfOwner > 0, limit: bound(c.MaxPerHourOfOwner, c.MaxPercentPerHourOfOwner, v.pods.ofOwner(p.name), LeastPerHourOfOwner)}
	case ofNamespace:
		return v.budgetOfNamespace(p.name)
	case ofPool:
		return budget{reason: reasons.NodePoolMovesPerHour, limit: c.MaxPerHourOfPool}
	case everything, scopes:
	}
	return budget{reason: reasons.MovesPerHour, limit: v.limit()}
}

// limit returns the hourly limit on all moves.
func (v *Verdict) limit() int {
	return bound(v.config.MaxPerHour, v.config.MaxPercentPerHour, v.pods.all(), LeastPerHour)
}

// budgetOfNamespace returns the hourly budget of a namespace. By default, one namespace
// may use half of all moves. A namespace with more than half of the pods may use its
// share of the pods, so that the only namespace of a cluster can use all moves.
func (v *Verdict) budgetOfNamespace(name string) budget {
	b := budget{reason: reasons.NamespaceMovesPerHour, limit: v.config.MaxPerHourOfNamespace}
	all := v.limit()
	if b.limit > 0 || all == 0 || v.pods == nil {
		return b
	}
	b.limit, b.of, b.share = (all+1)/2, all, true
	if v.pods.All > 0 {
		b.limit = max(b.limit, all*v.pods.Namespaces[name]/v.pods.All)
	}
	return b
}

// bound returns a fixed number of moves or, if a percentage is set, that share
// of the pods, rounded down.
func bound(number, percent, pods, least int) int {
	if percent == 0 {
		return number
	}
	return min(max(percent*pods/100, least), mostPerHour)
}

// partiesOf returns the parties against whose budgets a move counts. Pods without an
// owner have no owner budget.
func partiesOf(intent *ledger.Intent) [scopes]party {
	return [scopes]party{{}, {ofOwner, ownerKey(intent.Namespace, intent.Owner.UID)}, {ofNamespace, intent.Namespace}, {ofPool, intent.Pool}}
}

// evictedAt returns when a move's pod was evicted, or when the move was recorded if that
// is unknown; zero if the pod was not evicted.
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

// charge counts a move against the hour's budgets.
func (v *Verdict) charge(move *ledger.Move) {
	at := evictedAt(move)
	if known(at, v.now) {
		v.all = append(v.all, at)
		if at.After(v.evicted) {
			v.evicted = at
		}
	}
	intended := at.IsZero() && move.State == ledger.Intended
	if !intended && !within(at, v.now, time.Hour) {
		return
	}
	if intended {
		v.before[move.PodUID] = v.intended(&move.Intent)
	} else {
		v.evictions = append(v.evictions, at)
	}
	for _, p := range partiesOf(&move.Intent) {
		if p == (party{scope: ofOwner}) {
			continue
		}
		h := entry(v.hours, p)
		if intended {
			h.intended++
		} else if h.evicted++; h.evicted == 1 || at.Before(h.oldest) {
			h.oldest = at
		}
	}
}

// intended counts the recorded intents that share a budget with this one.
func (v *Verdict) intended(intent *ledger.Intent) (c counts) {
	for s, p := range partiesOf(intent) {
		c[s] = v.used(p).intended
	}
	return c
}

// used returns what a party has used of its budget.
func (v *Verdict) used(p party) hour {
	if h := v.hours[p]; h != nil {
		return *h
	}
	return hour{}
}

// refuses returns why a party's budget is used up, counting the given number of intended
// moves.
func (v *Verdict) refuses(p party, intended int) closure {
	b, h := v.budget(p), v.used(p)
	if b.limit == 0 || h.evicted+intended < b.limit {
		return closure{}
	}
	c := closure{reason: b.reason, detail: fmt.Sprintf("%d moves within the hour, at most %d", h.evicted+intended, b.limit)}
	if b.of > 0 {
		c.detail += fmt.Sprintf(" of the %d in all for namespace %q, so that others can be moved, too", b.of, p.name)
	}
	if h.evicted > 0 {
		c.until = h.oldest.Add(time.Hour)
		c.detail += "; the next not before " + stamp(c.until)
	}
	return c
}

// exceeds is like refuses, but leaves out percentage budgets if shares is false. These
// budgets bound only moves by usage, because other plugins evict pods for their
// properties, and upstream does not bound such evictions.
func (v *Verdict) exceeds(p party, intended int, shares bool) closure {
	if !shares && v.budget(p).share {
		return closure{}
	}
	return v.refuses(p, intended)
}

// freeAgain returns when a used-up hourly budget allows a move again; zero if that
// depends on moves that have not been made yet.
func (v *Verdict) freeAgain() time.Time {
	all, limit := v.used(party{}), v.limit()
	excess := all.evicted + all.intended - limit
	if limit == 0 || excess < 0 || excess >= len(v.evictions) {
		return time.Time{}
	}
	slices.SortFunc(v.evictions, time.Time.Compare)
	return v.evictions[excess].Add(time.Hour)
}

// entry returns a map's value for a key, creating it if needed.
func entry[K comparable, T any](all map[K]*T, key K) *T {
	if all[key] == nil {
		all[key] = new(T)
	}
	return all[key]
}

func (v *Verdict) ownerOf(move *ledger.Move) *owner {
	if move.Owner.UID == "" {
		return nil
	}
	return entry(v.owners, ownerKey(move.Namespace, move.Owner.UID))
}

// ownerKey identifies an owner by namespace and UID, because anyone who creates pods in
// another namespace can name any UID; empty without an owner.
func ownerKey(namespace, uid string) string {
	if uid == "" {
		return ""
	}
	return namespace + "/" + uid
}
