package safeguards

import (
	"fmt"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Closed returns why no further move may be planned, with details; empty if planning is
// allowed. Recorded moves that have not been made yet count against the hourly limit.
// Refuse decides whether a recorded move may still be made.
func (v *Verdict) Closed() (reasons.Reason, string) {
	return v.closed(v.used(party{}).intended).words()
}

func (v *Verdict) closed(intended int) closure {
	if len(v.closures) > 0 {
		return v.closures[0]
	}
	return v.refuses(party{}, intended)
}

// Until returns when the reason that Closed returns ends; zero if there is none or its
// end is unknown.
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

// Left returns the number of further moves that the hourly budget allows; -1 if
// unlimited.
func (v *Verdict) Left() int {
	all, limit := v.used(party{}), v.limit()
	if limit == 0 {
		return -1
	}
	return max(0, limit-all.evicted-all.intended)
}

// Beside returns why no further pod of an owner may be moved in addition to planned
// moves; empty if one may. ofOwners and ofNamespaces are the numbers of planned moves of
// the owner and of its namespace.
func (v *Verdict) Beside(of Whose, ofOwners, ofNamespaces int) (reasons.Reason, string) {
	key := ownerKey(of.Namespace, of.OwnerUID)
	if p := (party{ofOwner, key}); key != "" {
		if c := v.refuses(p, v.used(p).intended+ofOwners); c.reason != "" {
			return c.words()
		}
	}
	p := party{ofNamespace, of.Namespace}
	return v.refuses(p, v.used(p).intended+ofNamespaces).words()
}

// Owner returns why no further pod of an owner may be evicted.
func (v *Verdict) Owner(namespace, uid string) (reasons.Reason, string) {
	key := ownerKey(namespace, uid)
	if c := v.owner(key); c.reason != "" {
		return c.words()
	}
	p := party{ofOwner, key}
	return v.refuses(p, v.used(p).intended).words()
}

// owner returns why the results of an owner's earlier moves forbid further ones.
func (v *Verdict) owner(key string) closure {
	if o := v.owners[key]; o != nil {
		switch {
		case o.troubles[unready].count > 0:
			t := &o.troubles[unready]
			return closure{reason: reasons.OwnerReplacementUnready, detail: fmt.Sprintf("%d replacements are not ready or crash, such as %q", t.count, t.example)}
		case o.troubles[pending].count > 0:
			t := &o.troubles[pending]
			return closure{reason: reasons.OwnerReplacementPending, detail: fmt.Sprintf("%d replacements are without a node, such as that of %q", t.count, t.example)}
		}
		if !o.bound.since.IsZero() {
			until := o.bound.since.Add(UnsteeredFor)
			return closure{reasons.Unsteerable, fmt.Sprintf("until %s: the replacement of %q was created with a node", stamp(until), o.bound.pod), until}
		}
		if !o.denied.at.IsZero() {
			until := o.denied.at.Add(deniedFor)
			return closure{reasons.EvictionDenied, fmt.Sprintf("until %s: %s", stamp(until), o.denied.words), until}
		}
		if c := v.coolsDown(o); c.reason != "" {
			return c
		}
	}
	return closure{}
}

// Unsteered reports whether replacements of several owners in several namespaces were not
// steered, so that the cause does not lie with a single tenant.
func (v *Verdict) Unsteered() bool { return v.together[unsteered].everybodys(0) }

// Node returns why no pod may be moved off a node. Whether a pod may be moved to the node
// depends on predicted usage instead.
func (v *Verdict) Node(name string) (reasons.Reason, string) { return v.node(name).words() }

func (v *Verdict) node(name string) closure {
	s, ok := v.nodes[name]
	if !ok {
		return closure{}
	}
	until := s.since.Add(v.config.NodeSettle)
	return closure{reasons.NodeSettling, fmt.Sprintf("until %s, after the move of %q", stamp(until), s.pod), until}
}

// Around returns why no further pod of an intent's owner, node, namespace or node pool
// may be moved because of usage; empty if pods may be moved. until is when the reason
// ends; zero if unknown. Another reason may follow.
func (v *Verdict) Around(intent *ledger.Intent) (reason reasons.Reason, detail string, until time.Time) {
	c := v.around(intent, v.intended(intent), intent.Plugin == "")
	return c.reason, c.detail, c.until
}

// around is Around, given how many moves before this one count against each budget. If
// shares is false, percentage budgets are left out.
func (v *Verdict) around(intent *ledger.Intent, ahead counts, shares bool) closure {
	key := ownerKey(intent.Namespace, intent.Owner.UID)
	for _, c := range []closure{v.owner(key), v.exceeds(party{ofOwner, key}, ahead[ofOwner], shares), v.node(intent.From), v.namespace(intent.Namespace)} {
		if c.reason != "" {
			return c
		}
	}
	if last, ok := v.unasked[intent.Namespace]; ok && within(last.at, v.now, unaskedFor) {
		until := last.at.Add(unaskedFor)
		return closure{reasons.EvictionDenied, fmt.Sprintf("until %s in its namespace: %s", stamp(until), last.words), until}
	}
	if c := v.exceeds(party{ofNamespace, intent.Namespace}, ahead[ofNamespace], shares); c.reason != "" {
		return c
	}
	return v.refuses(party{ofPool, intent.Pool}, ahead[ofPool])
}

// Refuse returns the most informative reason why a move must not be made; empty if it may
// be made. For a recorded move, only the intents recorded before it count against the
// budgets, so that a cycle makes as many of its moves as the budgets allow.
func (v *Verdict) Refuse(intent *ledger.Intent) (reasons.Reason, string) {
	ahead, recorded := v.before[intent.PodUID]
	if !recorded {
		ahead = v.intended(intent)
	}
	return v.refusal(intent, ahead, shared(intent)).words()
}

// shared reports whether percentage budgets apply to a move. They are meant for
// strategies; descheduler plugins have their own limits.
func shared(intent *ledger.Intent) bool { return intent.To != "" && intent.Plugin == "" }

// refusal is Refuse, given how many moves before this one count against each budget. If
// shares is false, percentage budgets are left out.
func (v *Verdict) refusal(intent *ledger.Intent, ahead counts, shares bool) closure {
	if c := v.closed(ahead[everything]); c.reason != "" {
		return c
	}
	return v.around(intent, ahead, shares)
}
