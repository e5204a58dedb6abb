package safeguards

import (
	"fmt"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Closed says why no further move may be planned, with the particulars; empty
// where some may. Moves that are recorded but not made have used their share of
// the hour; whether one of them may still be made is for Refuse to say.
func (v *Verdict) Closed() (reasons.Reason, string) {
	return v.closed(v.all.intended)
}

func (v *Verdict) closed(intended int) (reasons.Reason, string) {
	if len(v.closures) > 0 {
		return v.closures[0].reason, v.closures[0].detail
	}
	return budget{reasons.MovesPerHour, v.config.MaxPerHour}.refuses(&v.all, intended)
}

// Until is when Closed ends by itself; zero where it says nothing or nobody
// knows.
func (v *Verdict) Until() time.Time {
	closures := v.closures
	if v.Left() == 0 {
		closures = append(slices.Clip(closures), closure{until: v.hourEnds})
	}
	latest := time.Time{}
	for _, c := range closures {
		if c.until.IsZero() {
			return time.Time{}
		}
		if c.until.After(latest) {
			latest = c.until
		}
	}
	return latest
}

// Left is how many further moves the hour allows; -1 where it has no bound.
func (v *Verdict) Left() int {
	if v.config.MaxPerHour == 0 {
		return -1
	}
	return max(0, v.config.MaxPerHour-v.all.evicted-v.all.intended)
}

// Owner says why no further pod of an owner may be evicted.
func (v *Verdict) Owner(uid string) (reasons.Reason, string) {
	if o := v.owners[uid]; o != nil {
		return v.owner(o, o.intended)
	}
	return "", ""
}

func (v *Verdict) owner(o *owner, intended int) (reasons.Reason, string) {
	switch {
	case o.unready.count > 0:
		return reasons.OwnerReplacementUnready, fmt.Sprintf("%d replacements are not ready or crash, such as %q", o.unready.count, o.unready.example)
	case o.pending.count > 0:
		return reasons.OwnerReplacementPending, fmt.Sprintf("%d replacements are without a node, such as that of %q", o.pending.count, o.pending.example)
	}
	if reason, detail := v.coolsDown(o); reason != "" {
		return reason, detail
	}
	return budget{reasons.OwnerMovesPerHour, v.config.MaxPerHourOfOwner}.refuses(&o.hour, intended)
}

// Node says why no pod may be moved off a node. Whether one may be moved to it
// is for prediction to say.
func (v *Verdict) Node(name string) (reasons.Reason, string) {
	if s, ok := v.nodes[name]; ok {
		return reasons.NodeSettling, fmt.Sprintf("until %s, after the move of %q", stamp(s.since.Add(v.config.NodeSettle)), s.pod)
	}
	return "", ""
}

// Namespace says why no further pod of a namespace may be evicted.
func (v *Verdict) Namespace(name string) (reasons.Reason, string) {
	if h := v.namespaces[name]; h != nil {
		return budget{reasons.NamespaceMovesPerHour, v.config.MaxPerHourOfNamespace}.refuses(h, h.intended)
	}
	return "", ""
}

// Pool says why no further pod may be moved off the nodes of a pool; those in
// none are one.
func (v *Verdict) Pool(name string) (reasons.Reason, string) {
	if h := v.pools[name]; h != nil {
		return budget{reasons.NodePoolMovesPerHour, v.config.MaxPerHourOfPool}.refuses(h, h.intended)
	}
	return "", ""
}

// Refuse says why a move may not be made, the most telling reason first; empty
// where it may. A move that is recorded counts neither itself nor what is
// intended after it, so of a cycle's moves as many may be made as the budgets
// have left.
func (v *Verdict) Refuse(intent *ledger.Intent) (reasons.Reason, string) {
	ahead, recorded := v.before[intent.PodUID]
	if !recorded {
		ahead = v.intended(intent)
	}
	if reason, detail := v.closed(ahead.all); reason != "" {
		return reason, detail
	}
	if o := v.owners[intent.Owner.UID]; o != nil {
		if reason, detail := v.owner(o, ahead.owner); reason != "" {
			return reason, detail
		}
	}
	if reason, detail := v.Node(intent.From); reason != "" {
		return reason, detail
	}
	namespace := budget{reasons.NamespaceMovesPerHour, v.config.MaxPerHourOfNamespace}
	if reason, detail := namespace.refuses(v.namespaces[intent.Namespace], ahead.namespace); reason != "" {
		return reason, detail
	}
	pool := budget{reasons.NodePoolMovesPerHour, v.config.MaxPerHourOfPool}
	return pool.refuses(v.pools[intent.Pool], ahead.pool)
}
