package page

import (
	"cmp"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/status/explain"
	"github.com/evenkeel/evenkeel/strategies"
)

// declined groups what a cycle would not move.
func declined(c *explain.Cycle) []Declined {
	type key struct{ namespace, owner, reason, detail string }
	type place struct {
		group *Declined
		node  string
	}
	groups, listed := map[key]*Declined{}, map[place]bool{}
	for i := range c.Plan.Declined {
		d := &c.Plan.Declined[i]
		k := key{d.Namespace, ownerOf(d), string(d.Reason), cmp.Or(d.Detail, d.Reason.Sentence())}
		g := groups[k]
		if g == nil {
			g = &Declined{Namespace: k.namespace, Owner: k.owner, Reason: k.reason, Detail: k.detail}
			groups[k] = g
		}
		g.Pods = append(g.Pods, d.Name)
		if at := (place{g, d.Node}); !listed[at] {
			listed[at] = true
			g.Nodes = append(g.Nodes, d.Node)
		}
	}
	all := make([]Declined, 0, len(groups))
	for _, g := range groups {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b Declined) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Owner, b.Owner), strings.Compare(a.Reason, b.Reason), strings.Compare(a.Detail, b.Detail))
	})
	return all
}

func ownerOf(d *strategies.Declined) string {
	if d.Owner.UID == "" {
		return d.Name + " (no owner)"
	}
	return d.Owner.Kind + "/" + d.Owner.Name
}
