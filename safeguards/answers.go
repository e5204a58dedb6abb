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
	return v.closed(v.used(party{}).intended)
}

func (v *Verdict) closed(intended int) (reasons.Reason, string) {
	if len(v.closures) > 0 {
		return v.closures[0].reason, v.closures[0].detail
	}
	return v.refuses(party{}, intended)
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
	all := v.used(party{})
	return max(0, v.config.MaxPerHour-all.evicted-all.intended)
}

// Owner says why no further pod of an owner may be evicted.
func (v *Verdict) Owner(uid string) (reasons.Reason, string) {
	return v.owner(uid, v.used(party{ofOwner, uid}).intended)
}

func (v *Verdict) owner(uid string, intended int) (reasons.Reason, string) {
	if o := v.owners[uid]; o != nil {
		switch {
		case o.unready.count > 0:
			return reasons.OwnerReplacementUnready, fmt.Sprintf("%d replacements are not ready or crash, such as %q", o.unready.count, o.unready.example)
		case o.pending.count > 0:
			return reasons.OwnerReplacementPending, fmt.Sprintf("%d replacements are without a node, such as that of %q", o.pending.count, o.pending.example)
		}
		if reason, detail := v.coolsDown(o); reason != "" {
			return reason, detail
		}
	}
	return v.refuses(party{ofOwner, uid}, intended)
}

// Node says why no pod may be moved off a node. Whether one may be moved to it
// is for prediction to say.
func (v *Verdict) Node(name string) (reasons.Reason, string) {
	if s, ok := v.nodes[name]; ok {
		return reasons.NodeSettling, fmt.Sprintf("until %s, after the move of %q", stamp(s.since.Add(v.config.NodeSettle)), s.pod)
	}
	return "", ""
}

// Around says why nothing more of the owner, the node, the namespace or the node
// pool of an intent may be evicted; empty where something may.
func (v *Verdict) Around(intent *ledger.Intent) (reasons.Reason, string) {
	return v.around(intent, v.intended(intent))
}

func (v *Verdict) around(intent *ledger.Intent, ahead counts) (reasons.Reason, string) {
	if reason, detail := v.owner(intent.Owner.UID, ahead[ofOwner]); reason != "" {
		return reason, detail
	}
	if reason, detail := v.Node(intent.From); reason != "" {
		return reason, detail
	}
	if reason, detail := v.refuses(party{ofNamespace, intent.Namespace}, ahead[ofNamespace]); reason != "" {
		return reason, detail
	}
	return v.refuses(party{ofPool, intent.Pool}, ahead[ofPool])
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
	if reason, detail := v.closed(ahead[everything]); reason != "" {
		return reason, detail
	}
	return v.around(intent, ahead)
}
