// Package preferred is ReturnPodsToPreferredNodes: it moves pods back to nodes that
// their preferred node affinity rates higher, once these are cool and have room.
package preferred

import (
	"cmp"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/check"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// Name is the strategy's name in a DeschedulerPolicy.
const Name = "ReturnPodsToPreferredNodes"

// Args are the strategy's arguments; all are optional. A pod is moved only to a cool
// node that its preferredDuringSchedulingIgnoredDuringExecution node affinity rates
// higher than its own, and that stays below its reject line even if the pod uses as
// much CPU as at its peak of the last hours.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// MinWeightGained is by how much more weight of the pod's preferred terms the
	// destination has to match: 1 to 10000.
	MinWeightGained int64 `json:"minWeightGained,omitempty"`
	// EvictableNamespaces says by namespace whose pods may be moved: those of
	// include alone, or all but those of exclude. At most one of the two may be
	// set; an empty list restricts nothing.
	EvictableNamespaces *api.Namespaces `json:"evictableNamespaces,omitempty"`
}

var _ plugin.Strategy = (*Args)(nil)

// DeepCopyObject implements runtime.Object.
func (a *Args) DeepCopyObject() runtime.Object {
	if a == nil {
		return nil
	}
	out := *a
	out.EvictableNamespaces = a.EvictableNamespaces.DeepCopy()
	return &out
}

// SetDefaults implements policy.Strategy.
func (a *Args) SetDefaults() { a.MinWeightGained = cmp.Or(a.MinWeightGained, 1) }

// Validate implements policy.Strategy.
func (a *Args) Validate() field.ErrorList {
	errs := check.Between(field.NewPath("minWeightGained"), cmp.Or(a.MinWeightGained, 1), 1, 10_000)
	return append(errs, policy.ValidateNamespaces(a.EvictableNamespaces, field.NewPath("evictableNamespaces"))...)
}

// Describe implements policy.Strategy.
func (a *Args) Describe() policy.StrategyDescription {
	return policy.StrategyDescription{
		Name: Name, Namespaces: a.EvictableNamespaces,
		Does: []string{fmt.Sprintf("Returns pods to cool nodes that their preferred node affinity rates higher, by a weight of %d or more.", max(a.MinWeightGained, 1))},
	}
}

// Plan implements plugin.Strategy.
func (a *Args) Plan(ctx context.Context, round *plugin.Round) (plugin.Result, error) {
	p := &planner{
		args: a, round: round, nodes: map[string]*node{}, ratings: map[kin]*nodeaffinity.PreferredSchedulingTerms{},
		ofOwner: map[cluster.Owner]int{}, ofNamespace: map[string]int{},
	}
	p.observe()
	pods := round.Pods()
	candidates, err := p.candidates(ctx, pods)
	if err != nil {
		return plugin.Result{}, err
	}
	result := plugin.Result{Basis: p}
	if len(candidates) > 0 || round.Asked != nil {
		session, err := round.Place(ctx, pods)
		if err != nil {
			return result, err
		}
		defer session.Close()
		if round.Asked != nil {
			result.Landings = p.landings(round.Asked, session)
		}
		for _, candidate := range candidates {
			if err := p.place(candidate, session); err != nil {
				return result, err
			}
		}
	}
	for _, object := range round.Nodes {
		if n := p.nodes[object.Name]; n != nil {
			p.plan.Nodes = append(p.plan.Nodes, strategies.NodeReport{Name: n.basis.Name, State: n.basis.State, Before: n.percent(n.before), After: n.percent(n.now)})
		}
	}
	result.Plan = p.plan
	return result, nil
}
