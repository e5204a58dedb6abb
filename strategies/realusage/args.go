package realusage

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/check"
)

// Name is the strategy's name in a DeschedulerPolicy.
const Name = policy.DefaultStrategy

// Args are the plugin's arguments. Their names and meanings are those of upstream's
// LowNodeUtilization. All are optional; the LoadPolicy's settings apply where one is
// absent.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// UseDeviationThresholds makes both thresholds distances from the mean usage of the
	// nodes instead of levels of usage. For the metrics they name, any settings they leave
	// open are as with deviation in the LoadPolicy.
	UseDeviationThresholds bool `json:"useDeviationThresholds,omitempty"`
	// Thresholds replace the low lines of the resources they name: percent of allocatable,
	// or percentage points below the mean.
	Thresholds api.ResourceThresholds `json:"thresholds,omitempty"`
	// TargetThresholds replace the evict lines of the resources they name: percent of
	// allocatable, or percentage points above the mean.
	TargetThresholds api.ResourceThresholds `json:"targetThresholds,omitempty"`
	// NumberOfNodes is the number of cool nodes that must be exceeded before anything is
	// moved: 0 or more. Nodes that accept no pods do not count.
	NumberOfNodes int `json:"numberOfNodes,omitempty"`
	// EvictableNamespaces selects the namespaces whose pods may be moved: only those in
	// include, or all except those in exclude. At most one of the two may be set; an empty
	// list restricts nothing. The usage of pods that must not be moved still counts.
	EvictableNamespaces *api.Namespaces `json:"evictableNamespaces,omitempty"`
	// EvictionLimits limits the evictions from one node in one cycle.
	EvictionLimits *api.EvictionLimits `json:"evictionLimits,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (a *Args) DeepCopyObject() runtime.Object {
	if a == nil {
		return nil
	}
	return a.DeepCopy()
}

// DeepCopy returns a copy that shares nothing with a.
func (a *Args) DeepCopy() *Args {
	if a == nil {
		return nil
	}
	out := *a
	out.Thresholds = maps.Clone(a.Thresholds)
	out.TargetThresholds = maps.Clone(a.TargetThresholds)
	out.EvictableNamespaces = a.EvictableNamespaces.DeepCopy()
	out.EvictionLimits = a.EvictionLimits.DeepCopy()
	return &out
}

// SetDefaults implements policy.Strategy. It changes nothing, because the LoadPolicy
// defines what is absent.
func (a *Args) SetDefaults() {}

// Describe implements policy.Strategy.
func (a *Args) Describe() policy.StrategyDescription {
	return policy.StrategyDescription{
		Name: Name, Relieves: true, Namespaces: a.EvictableNamespaces,
		Thresholds: &policy.Thresholds{Deviation: a.UseDeviationThresholds, Low: a.Thresholds, Target: a.TargetThresholds},
	}
}

// Validate implements policy.Strategy.
func (a *Args) Validate() field.ErrorList {
	var errs field.ErrorList
	thresholds, targets := field.NewPath("thresholds"), field.NewPath("targetThresholds")
	errs = append(errs, validateThresholds(a.Thresholds, thresholds)...)
	errs = append(errs, validateThresholds(a.TargetThresholds, targets)...)
	if a.UseDeviationThresholds {
		errs = append(errs, validateDeviation(a)...)
	} else {
		errs = append(errs, validateOrder(a, thresholds)...)
	}
	errs = append(errs, check.Between(field.NewPath("numberOfNodes"), a.NumberOfNodes, 0, 1_000_000)...)
	return append(errs, policy.ValidateNamespaces(a.EvictableNamespaces, field.NewPath("evictableNamespaces"))...)
}

func validateThresholds(thresholds api.ResourceThresholds, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(thresholds)) {
		key := path.Key(string(name))
		errs = append(errs, check.OneOf(key, name, v1.ResourceCPU, v1.ResourceMemory)...)
		errs = append(errs, check.Percent(key, float64(thresholds[name]))...)
	}
	return errs
}

func validateDeviation(args *Args) field.ErrorList {
	if len(args.Thresholds)+len(args.TargetThresholds) > 0 {
		return nil
	}
	return field.ErrorList{field.Required(field.NewPath("thresholds"),
		"useDeviationThresholds needs thresholds, targetThresholds or both")}
}

// validateOrder compares thresholds as far as that is possible without the LoadPolicy.
func validateOrder(args *Args, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(args.Thresholds)) {
		target, both := args.TargetThresholds[name]
		if low := args.Thresholds[name]; both && low >= target {
			errs = append(errs, field.Invalid(path.Key(string(name)), float64(low),
				fmt.Sprintf("must be below targetThresholds[%s] (%v)", name, target)))
		}
	}
	return errs
}
