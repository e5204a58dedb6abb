// Package preferred implements ReturnPodsToPreferredNodes: it moves pods back to nodes
// that their preferred node affinity rates higher, once these nodes are cool and have
// space.
package preferred

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/check"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// Name is the strategy's name in a DeschedulerPolicy.
const Name = "ReturnPodsToPreferredNodes"

// Args are the strategy's arguments; all are optional. A pod is moved only to a cool node
// that its preferredDuringSchedulingIgnoredDuringExecution node affinity rates higher
// than its own node, and only if the destination would stay below its reject line even if
// the pod and the destination's pods used as much CPU as at their peaks of the last
// hours. A pod that was moved within the last day is not moved again.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// MinWeightGained is the minimum by which the total weight of the pod's matching
	// preferred terms must be higher on the destination: 1 to 10000.
	MinWeightGained int64 `json:"minWeightGained,omitempty"`
	// EvictableNamespaces selects the namespaces whose pods may be moved: only those in
	// include, or all except those in exclude. At most one of the two may be set; an empty
	// list restricts nothing.
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
