package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/policy/check"
)

// RealUsageLowNodeUtilizationName is the plugin's name in a DeschedulerPolicy.
const RealUsageLowNodeUtilizationName = "RealUsageLowNodeUtilization"

// RealUsageLowNodeUtilizationArgs are the plugin's arguments. Their names and
// meanings are those of upstream's LowNodeUtilization; all are optional, and
// what is absent is as the LoadPolicy says.
type RealUsageLowNodeUtilizationArgs struct {
	metav1.TypeMeta `json:",inline"`

	// UseDeviationThresholds makes both thresholds distances from the mean
	// usage of the nodes instead of levels of usage: of the metrics they name,
	// what they leave open is as with deviation in the LoadPolicy.
	UseDeviationThresholds bool `json:"useDeviationThresholds,omitempty"`
	// Thresholds take the place of the low lines of the resources they name:
	// percent of allocatable, or percentage points below the mean.
	Thresholds api.ResourceThresholds `json:"thresholds,omitempty"`
	// TargetThresholds take the place of the evict lines of the resources they
	// name: percent of allocatable, or percentage points above the mean.
	TargetThresholds api.ResourceThresholds `json:"targetThresholds,omitempty"`
	// NumberOfNodes is the number of cool nodes that must be exceeded before
	// anything is moved: 0 or more. Nodes that take no pods do not count.
	NumberOfNodes int `json:"numberOfNodes,omitempty"`
	// EvictableNamespaces says by namespace whose pods may be moved: those of
	// include alone, or all but those of exclude. At most one of the two may be
	// set; an empty list restricts nothing. What the pods of the others use still
	// counts.
	EvictableNamespaces *api.Namespaces `json:"evictableNamespaces,omitempty"`
	// EvictionLimits bounds the evictions from one node in one cycle.
	EvictionLimits *api.EvictionLimits `json:"evictionLimits,omitempty"`
}

var _ runtime.Object = (*RealUsageLowNodeUtilizationArgs)(nil)

// DeepCopyObject implements runtime.Object.
func (a *RealUsageLowNodeUtilizationArgs) DeepCopyObject() runtime.Object {
	if a == nil {
		return nil
	}
	return a.DeepCopy()
}

// DeepCopy returns a copy that shares nothing with a.
func (a *RealUsageLowNodeUtilizationArgs) DeepCopy() *RealUsageLowNodeUtilizationArgs {
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

// Spares reports whether the pods of a namespace may not be moved.
func (a *RealUsageLowNodeUtilizationArgs) Spares(namespace string) bool {
	given := a.EvictableNamespaces
	if given == nil {
		return false
	}
	return len(given.Include) > 0 && !slices.Contains(given.Include, namespace) || slices.Contains(given.Exclude, namespace)
}

// RealUsageArgs returns the arguments of every profile that enables the plugin.
func RealUsageArgs(p *api.DeschedulerPolicy) (all []*RealUsageLowNodeUtilizationArgs) {
	for i := range p.Profiles {
		if args := RealUsageArgsOf(&p.Profiles[i]); args != nil {
			all = append(all, args)
		}
	}
	return all
}

// RealUsageArgsOf returns the plugin's arguments in a profile; nil if that does not
// enable it.
func RealUsageArgsOf(profile *api.DeschedulerProfile) *RealUsageLowNodeUtilizationArgs {
	if !slices.Contains(profile.Plugins.Balance.Enabled, RealUsageLowNodeUtilizationName) {
		return nil
	}
	given, _ := ArgsOf(profile, RealUsageLowNodeUtilizationName)
	args, _ := given.(*RealUsageLowNodeUtilizationArgs)
	return args
}

// ArgsOf returns a plugin's arguments, and whether the profile has an entry for
// them.
func ArgsOf(profile *api.DeschedulerProfile, plugin string) (args runtime.Object, configured bool) {
	for _, config := range profile.PluginConfigs {
		if config.Name == plugin {
			return config.Args, true
		}
	}
	return nil, false
}

// SetDefaults_RealUsageLowNodeUtilizationArgs is the plugin's defaulter. It
// changes nothing: what is absent comes from the LoadPolicy, in Overlay.
func SetDefaults_RealUsageLowNodeUtilizationArgs(runtime.Object) {}

// ValidateRealUsageLowNodeUtilizationArgs is the plugin's validator. It accepts
// zero values, because the framework calls it before the defaulter.
func ValidateRealUsageLowNodeUtilizationArgs(obj runtime.Object) error {
	args, ok := obj.(*RealUsageLowNodeUtilizationArgs)
	if !ok {
		return fmt.Errorf("arguments of type %T given to %s", obj, RealUsageLowNodeUtilizationName)
	}
	var errs field.ErrorList
	thresholds, targets := field.NewPath("thresholds"), field.NewPath("targetThresholds")
	errs = append(errs, validateThresholds(args.Thresholds, thresholds)...)
	errs = append(errs, validateThresholds(args.TargetThresholds, targets)...)
	if args.UseDeviationThresholds {
		errs = append(errs, validateDeviation(args)...)
	} else {
		errs = append(errs, validateOrder(args, thresholds)...)
	}
	errs = append(errs, check.Between(field.NewPath("numberOfNodes"), args.NumberOfNodes, 0, 1_000_000)...)
	errs = append(errs, validateNamespaces(args.EvictableNamespaces, field.NewPath("evictableNamespaces"))...)
	return prefixed(errs)
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

func validateDeviation(args *RealUsageLowNodeUtilizationArgs) field.ErrorList {
	if len(args.Thresholds)+len(args.TargetThresholds) > 0 {
		return nil
	}
	return field.ErrorList{field.Required(field.NewPath("thresholds"),
		"useDeviationThresholds needs thresholds, targetThresholds or both")}
}

// validateOrder compares thresholds as far as possible without the LoadPolicy.
func validateOrder(args *RealUsageLowNodeUtilizationArgs, path *field.Path) field.ErrorList {
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

// validateNamespaces also refuses names that no namespace has, such as patterns:
// they would restrict nothing, or everything.
func validateNamespaces(given *api.Namespaces, path *field.Path) field.ErrorList {
	if given == nil {
		return nil
	}
	var errs field.ErrorList
	for _, list := range []struct {
		path  *field.Path
		names []string
	}{{path.Child("include"), given.Include}, {path.Child("exclude"), given.Exclude}} {
		for i, name := range list.names {
			errs = append(errs, check.Valid(list.path.Index(i), name, validation.IsDNS1123Label)...)
		}
	}
	if len(given.Include) > 0 && len(given.Exclude) > 0 {
		errs = append(errs, field.Invalid(path.Child("exclude"), strings.Join(given.Exclude, ", "),
			"must be left out where include is set: only one of the two may be"))
	}
	return errs
}

// prefixed joins field errors into one error whose lines name the plugin.
func prefixed(errs field.ErrorList) error {
	joined := make([]error, len(errs))
	for i, err := range errs {
		joined[i] = fmt.Errorf("%s: %w", RealUsageLowNodeUtilizationName, err)
	}
	return errors.Join(joined...)
}
