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
	// Plugin is the descheduler plugin that asks for its eviction; absent if a strategy
	// would move it.
	Plugin string `json:"plugin,omitempty"`
	// Detail describes the reason in words. The plan omits it if it adds nothing to the
	// reason.
	Detail string `json:"detail,omitempty"`
}

// PlanDeclined is a declined pod in the report of a plan.
type PlanDeclined struct {
	Declined
	Owner string `json:"owner,omitempty"`
	Node  string `json:"node"`
	// Until is when the reason ends, if known; another reason may follow. Passing is true
	// if the reason ends at an unknown time without a change to the pod, its owner or the
	// policy.
	Until   *time.Time `json:"until,omitempty"`
	Passing bool       `json:"passing,omitempty"`
}

// DeclinedGroup holds the pods of one owner that are declined for one reason.
type DeclinedGroup struct {
	Namespace string `json:"namespace"`
	// Owner is the owner's kind and name, or the pod's name if it has no owner.
	Owner  string   `json:"owner"`
	Reason string   `json:"reason"`
	Detail string   `json:"detail"`
	Pods   []string `json:"pods"`
	Nodes  []string `json:"nodes"`
}

// GroupDeclined groups pods by owner, reason and detail, in their order. detail returns
// the detail of a pod.
func GroupDeclined(all []PlanDeclined, detail func(*PlanDeclined) string) []DeclinedGroup {
	type key struct{ namespace, owner, reason, detail string }
	places, listed := map[key]int{}, map[key]map[string]bool{}
	groups := []DeclinedGroup{}
	for i := range all {
		d := &all[i]
		k := key{d.Namespace, cmp.Or(d.Owner, d.Pod+" (no owner)"), d.Reason, detail(d)}
		if listed[k] == nil {
			places[k], listed[k] = len(groups), map[string]bool{}
			groups = append(groups, DeclinedGroup{Namespace: k.namespace, Owner: k.owner, Reason: k.reason, Detail: k.detail})
		}
		g := &groups[places[k]]
		g.Pods = append(g.Pods, d.Pod)
		if !listed[k][d.Node] {
			listed[k][d.Node] = true
			g.Nodes = append(g.Nodes, d.Node)
		}
	}
	return groups
}

// declinedOf returns a declined pod with its reason in words.
func declinedOf(d *strategies.Declined) Declined {
	return Declined{Namespace: d.Namespace, Pod: d.Name, Reason: string(d.Reason), Plugin: d.Plugin, Detail: cmp.Or(d.Detail, d.Reason.Sentence())}
}

func planDeclinedOf(d *strategies.Declined) PlanDeclined {
	is := PlanDeclined{Declined: declinedOf(d), Node: d.Node, Passing: slices.Contains(passing, d.Reason)}
	if d.Owner.UID != "" {
		is.Owner = d.Owner.Kind + "/" + d.Owner.Name
	}
	return is
}

func (f *PlanFacts) declined(d *strategies.Declined) PlanDeclined {
	is := planDeclinedOf(d)
	is.Detail = d.Detail
	if until := f.Until[d.UID]; until.After(f.At) {
		is.Until = new(until.UTC())
	}
	return is
}

// passing holds the reasons that end without a change to the pod, its owner, the policy
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

// Declined returns the pods that the cycle did not move, in groups.
func (c *Cycle) Declined() []DeclinedGroup {
	all := make([]PlanDeclined, len(c.Plan.Declined))
	for i := range all {
		all[i] = planDeclinedOf(&c.Plan.Declined[i])
	}
	groups := GroupDeclined(all, func(d *PlanDeclined) string { return d.Detail })
	slices.SortFunc(groups, func(a, b DeclinedGroup) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Owner, b.Owner), strings.Compare(a.Reason, b.Reason), strings.Compare(a.Detail, b.Detail))
	})
	return groups
}
