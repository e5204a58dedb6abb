package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/policy/check"
)

// DefaultStrategy is the strategy that the shipped profile runs. It is also recommended
// if a policy runs none.
const DefaultStrategy = "RealUsageLowNodeUtilization"

// Strategy holds the arguments of one of Evenkeel's own strategies: a plugin that plans
// moves by observed usage, each with a destination. Readers of a policy use this
// interface and do not depend on the name of any strategy.
type Strategy interface {
	runtime.Object
	// SetDefaults sets every absent field to its default.
	SetDefaults()
	// Validate returns all mistakes in the arguments. It accepts zero values, because the
	// framework validates before it sets defaults.
	Validate() field.ErrorList
	// Describe describes a strategy with these arguments for other packages.
	Describe() StrategyDescription
}

// StrategyDescription describes a strategy for other packages.
type StrategyDescription struct {
	// Name is the plugin's name in a DeschedulerPolicy.
	Name string
	// Relieves reports whether the strategy moves pods off hot nodes, so that it depends
	// on which nodes are hot.
	Relieves bool
	// Hosted reports whether the strategy is a descheduler plugin, which decides without
	// usage.
	Hosted bool
	// Thresholds are laid over the lines of the LoadPolicy; nil for a strategy that uses those lines unchanged.
	Thresholds *Thresholds
	// Does holds sentences that describe which pods the strategy moves and which it
	// leaves alone. lint prints them.
	Does []string
	// Namespaces restricts, by namespace, which pods may be moved; nil restricts nothing.
	Namespaces *api.Namespaces
}

// Spares reports whether the namespace is excluded.
func (d *StrategyDescription) Spares(namespace string) bool {
	given := d.Namespaces
	if given == nil {
		return false
	}
	return len(given.Include) > 0 && !slices.Contains(given.Include, namespace) || slices.Contains(given.Exclude, namespace)
}

// Strategies returns the strategies that the profiles enable, in the order of the
// profiles.
func Strategies(p *api.DeschedulerPolicy) (all []Strategy) {
	for i := range p.Profiles {
		all = append(all, StrategiesOf(&p.Profiles[i])...)
	}
	return all
}

// StrategiesOf returns the strategies that a profile enables, in the order in which
// they run.
func StrategiesOf(profile *api.DeschedulerProfile) (all []Strategy) {
	for _, name := range profile.Plugins.Balance.Enabled {
		given, _ := ArgsOf(profile, name)
		if strategy, ok := given.(Strategy); ok {
			all = append(all, strategy)
		}
	}
	return all
}

// Relieves reports whether any of the strategies moves pods off hot nodes.
func Relieves(all []Strategy) bool {
	return slices.ContainsFunc(all, func(s Strategy) bool { return s.Describe().Relieves })
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

// namedErrors joins field errors to one error in which each line contains the name of the
// strategy.
func namedErrors(strategy string, errs field.ErrorList) error {
	joined := make([]error, len(errs))
	for i, err := range errs {
		joined[i] = fmt.Errorf("%s: %w", strategy, err)
	}
	return errors.Join(joined...)
}

// ValidateStrategy returns an error with all mistakes in a strategy's arguments, one per
// line, or nil.
func ValidateStrategy(s Strategy) error { return namedErrors(s.Describe().Name, s.Validate()) }

// ValidateNamespaces checks the namespaces that a strategy includes or excludes. It also rejects names that no namespace can
// have, such as patterns, because they would restrict nothing, or everything.
func ValidateNamespaces(given *api.Namespaces, path *field.Path) field.ErrorList {
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
