package safeguards

import (
	"fmt"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Closed returns why no further move may be planned, with details; empty if one
// may be. Moves that are recorded but not made count against the hour. Refuse
// decides whether one of them may still be made.
func (v *Verdict) Closed() (reasons.Reason, string) {
	return v.closed(v.used(party{}).intended)
}

func (v *Verdict) closed(intended int) (reasons.Reason, string) {
	if len(v.closures) > 0 {
		return v.closures[0].reason, v.closures[0].detail
	}
	return v.refuses(party{}, intended)
}

// Until returns when Closed ends; zero if Closed is empty or the end is not
// known.
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

// Left returns how many further moves the hour allows; -1 if unlimited.
func (v *Verdict) Left() int {
	if v.config.MaxPerHour == 0 {
		return -1
	}
	all := v.used(party{})
	return max(0, v.config.MaxPerHour-all.evicted-all.intended)
}

// Owner returns why no further pod of an owner may be evicted.
func (v *Verdict) Owner(namespace, uid string) (reasons.Reason, string) {
	key := ownerKey(namespace, uid)
	return v.owner(key, v.used(party{ofOwner, key}).intended)
}

func (v *Verdict) owner(key string, intended int) (reasons.Reason, string) {
	if o := v.owners[key]; o != nil {
		switch {
		case o.troubles[unready].count > 0:
			t := &o.troubles[unready]
			return reasons.OwnerReplacementUnready, fmt.Sprintf("%d replacements are not ready or crash, such as %q", t.count, t.example)
		case o.troubles[pending].count > 0:
			t := &o.troubles[pending]
			return reasons.OwnerReplacementPending, fmt.Sprintf("%d replacements are without a node, such as that of %q", t.count, t.example)
		}
		if !o.denied.at.IsZero() {
			return reasons.EvictionDenied, fmt.Sprintf("until %s: %s", stamp(o.denied.at.Add(deniedFor)), o.denied.words)
		}
		if reason, detail := v.coolsDown(o); reason != "" {
			return reason, detail
		}
	}
	return v.refuses(party{ofOwner, key}, intended)
}

// Node returns why no pod may be moved off a node. Predicted usage decides
// whether one may be moved to it.
func (v *Verdict) Node(name string) (reasons.Reason, string) {
	if s, ok := v.nodes[name]; ok {
		return reasons.NodeSettling, fmt.Sprintf("until %s, after the move of %q", stamp(s.since.Add(v.config.NodeSettle)), s.pod)
	}
	return "", ""
}

// Around returns why nothing more of an intent's owner, node, namespace or node
// pool may be evicted; empty if something may.
func (v *Verdict) Around(intent *ledger.Intent) (reasons.Reason, string) {
	return v.around(intent, v.intended(intent))
}

func (v *Verdict) around(intent *ledger.Intent, ahead counts) (reasons.Reason, string) {
	if reason, detail := v.owner(ownerKey(intent.Namespace, intent.Owner.UID), ahead[ofOwner]); reason != "" {
		return reason, detail
	}
	if reason, detail := v.Node(intent.From); reason != "" {
		return reason, detail
	}
	if reason, detail := v.namespace(intent.Namespace); reason != "" {
		return reason, detail
	}
	if last, ok := v.unasked[intent.Namespace]; ok && within(last.at, v.now, unaskedFor) {
		return reasons.EvictionDenied, fmt.Sprintf("until %s in its namespace: %s", stamp(last.at.Add(unaskedFor)), last.words)
	}
	if reason, detail := v.refuses(party{ofNamespace, intent.Namespace}, ahead[ofNamespace]); reason != "" {
		return reason, detail
	}
	return v.refuses(party{ofPool, intent.Pool}, ahead[ofPool])
}

// Refuse returns the most informative reason why a move may not be made; empty
// if it may. A recorded move counts neither itself nor what is intended after
// it, so a cycle may make as many of its moves as the budgets have left.
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
