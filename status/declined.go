package status

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// Declined is a pod that is not moved off its node.
type Declined struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Reason    string `json:"reason"`
	// Detail puts the reason into words; the plan omits it if it has nothing to add
	// to the reason.
	Detail string `json:"detail,omitempty"`
}

// PlanDeclined is a declined pod as the plan reports it.
type PlanDeclined struct {
	Declined
	Owner string `json:"owner,omitempty"`
	Node  string `json:"node"`
	// Until is when the reason ends, if that is known; another reason may follow.
	// Passing says that the reason ends without a change to the pod, its owner or the
	// policy, at an unknown time.
	Until   *time.Time `json:"until,omitempty"`
	Passing bool       `json:"passing,omitempty"`
}

// DeclinedGroup holds the pods of one owner that the last cycle did not move for one
// reason.
type DeclinedGroup struct {
	Namespace string `json:"namespace"`
	// Owner is a kind and a name; for a pod without an owner it is the pod's name.
	Owner  string   `json:"owner"`
	Reason string   `json:"reason"`
	Detail string   `json:"detail"`
	Pods   []string `json:"pods"`
	Nodes  []string `json:"nodes"`
}

// declinedOf returns a declined pod with its reason in words.
func declinedOf(d *strategies.Declined) Declined {
	return Declined{Namespace: d.Namespace, Pod: d.Name, Reason: string(d.Reason), Detail: cmp.Or(d.Detail, d.Reason.Sentence())}
}

// ownerOf returns the kind and the name of a pod's owner; empty without one.
func ownerOf(pod *strategies.Pod) string {
	if pod.Owner.UID == "" {
		return ""
	}
	return pod.Owner.Kind + "/" + pod.Owner.Name
}

func (f *PlanFacts) declined(d *strategies.Declined) PlanDeclined {
	is := PlanDeclined{Declined: declinedOf(d), Owner: ownerOf(&d.Pod), Node: d.Node, Passing: slices.Contains(passing, d.Reason)}
	is.Detail = d.Detail
	if until := f.Until[d.UID]; until.After(f.At) {
		is.Until = new(until.UTC())
	}
	return is
}

// passing are the reasons that end without a change to the pod, its owner, the policy
// or other nodes.
var passing = []reasons.Reason{
	reasons.OwnerRollingOut, reasons.OwnerJustScaled, reasons.OwnerUnknown, reasons.OwnerScaledDown, reasons.OwnerDeleting,
	reasons.PodStarting, reasons.PodUsageUnknown, reasons.Terminating, reasons.OnTheMove,
	reasons.PodDisruptionBudgetExhausted, reasons.OwnerPodsUnavailable, reasons.LastReadyReplica, reasons.BelowMinAvailable,
	reasons.OwnerCreatesInOrder, reasons.ResourceQuotaExhausted,
	reasons.OwnerReplacementUnready, reasons.OwnerReplacementPending, reasons.ReplacementsUnready, reasons.ReplacementsPending,
	reasons.OwnerCoolingDown, reasons.EvictionDenied, reasons.NodeSettling, reasons.NodeLeaving,
	reasons.OwnerMovesPerHour, reasons.NamespaceMovesPerHour, reasons.NodePoolMovesPerHour, reasons.MoveLimit, reasons.NotWorthwhile,
}

// Declined groups the pods that the cycle did not move.
func (c *Cycle) Declined() []DeclinedGroup {
	type key struct{ namespace, owner, reason, detail string }
	groups := map[key]*DeclinedGroup{}
	for i := range c.Plan.Declined {
		d := declinedOf(&c.Plan.Declined[i])
		k := key{d.Namespace, cmp.Or(ownerOf(&c.Plan.Declined[i].Pod), d.Pod+" (no owner)"), d.Reason, d.Detail}
		g := groups[k]
		if g == nil {
			g = &DeclinedGroup{Namespace: k.namespace, Owner: k.owner, Reason: k.reason, Detail: k.detail}
			groups[k] = g
		}
		g.Pods, g.Nodes = append(g.Pods, d.Pod), append(g.Nodes, c.Plan.Declined[i].Node)
	}
	all := make([]DeclinedGroup, 0, len(groups))
	for _, g := range groups {
		g.Nodes = distinct(g.Nodes)
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b DeclinedGroup) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Owner, b.Owner), strings.Compare(a.Reason, b.Reason), strings.Compare(a.Detail, b.Detail))
	})
	return all
}

// distinct returns names in their order, each once.
func distinct(names []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(names, func(name string) bool {
		known := seen[name]
		seen[name] = true
		return known
	})
}
