package policyfile

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/nodeutilization"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/podlifetime"

	"github.com/evenkeel/evenkeel/policy"
)

// KeepOnlyPlanned reduces a policy to what can be shown by the observed usage: the
// strategies of the first profile that has any, and, in all profiles, the descheduler
// plugins that do not read metrics themselves. Profiles with neither are dropped. It
// returns the names of the other profiles with strategies, and of the plugins that read
// metrics.
func KeepOnlyPlanned(p *api.DeschedulerPolicy) (others, measuring []string) {
	p.MetricsProviders, p.MetricsCollector = nil, nil // strategies read the observer
	others, strategies := Unplanned(p), true
	var kept []api.DeschedulerProfile
	for i := range p.Profiles {
		profile := p.Profiles[i]
		ours, first := map[string]bool{}, strategies
		for _, strategy := range policy.StrategiesOf(&profile) {
			ours[strategy.Describe().Name], strategies = true, false
		}
		dropped := func(name string) bool {
			switch {
			case ours[name]:
				return !first
			case measures(&profile, name):
				measuring = append(measuring, name)
				return true
			}
			return false
		}
		enabled := &profile.Plugins
		enabled.Deschedule.Enabled = slices.DeleteFunc(slices.Clone(enabled.Deschedule.Enabled), dropped)
		enabled.Balance.Enabled = slices.DeleteFunc(slices.Clone(enabled.Balance.Enabled), dropped)
		if len(enabled.Deschedule.Enabled)+len(enabled.Balance.Enabled) > 0 {
			kept = append(kept, profile)
		}
	}
	p.Profiles = kept
	return others, slices.Compact(slices.Sorted(slices.Values(measuring)))
}

// EnablesUpstream reports whether a policy enables a plugin that is not one of Evenkeel's
// strategies.
func EnablesUpstream(p *api.DeschedulerPolicy) bool {
	return slices.ContainsFunc(p.Profiles, func(profile api.DeschedulerProfile) bool {
		ours := len(policy.StrategiesOf(&profile))
		return len(profile.Plugins.Deschedule.Enabled)+len(profile.Plugins.Balance.Enabled) > ours
	})
}

// measures reports whether a plugin itself reads metrics.
func measures(profile *api.DeschedulerProfile, name string) bool {
	args, _ := policy.ArgsOf(profile, name)
	low, ok := args.(*nodeutilization.LowNodeUtilizationArgs)
	return ok && low.MetricsUtilization != nil
}

// Planned returns the strategies of the first profile that has any. If only one plan is
// shown, it is the plan of these strategies.
func Planned(p *api.DeschedulerPolicy) []policy.Strategy {
	for i := range p.Profiles {
		if ours := policy.StrategiesOf(&p.Profiles[i]); len(ours) > 0 {
			return ours
		}
	}
	return nil
}

// Unplanned returns the names of all profiles that move pods by usage, except the first
// one. If only one plan is shown, theirs are missing.
func Unplanned(p *api.DeschedulerPolicy) (names []string) {
	for i := range p.Profiles {
		if len(policy.StrategiesOf(&p.Profiles[i])) > 0 {
			names = append(names, p.Profiles[i].Name)
		}
	}
	return names[min(1, len(names)):]
}

// Protection returns the DefaultEvictor's arguments from the first profile that moves
// pods by usage.
func Protection(p *api.DeschedulerPolicy) runtime.Object {
	for i := range p.Profiles {
		if len(policy.StrategiesOf(&p.Profiles[i])) > 0 {
			args, _ := policy.ArgsOf(&p.Profiles[i], defaultevictor.PluginName)
			return args
		}
	}
	return nil
}

// RequestProtections requests the informers that DefaultEvictor's protections
// need. The plugin itself requests them only when it checks a pod, after the
// informers have started.
func RequestProtections(factory informers.SharedInformerFactory, p *api.DeschedulerPolicy) {
	for args := range argsOf[*defaultevictor.DefaultEvictorArgs](p) {
		extra := args.PodProtections.ExtraEnabled
		//nolint:staticcheck // deprecated, and still in users' policies
		if slices.Contains(extra, defaultevictor.PodsWithoutPDB) || args.IgnorePodsWithoutPDB {
			factory.Policy().V1().PodDisruptionBudgets().Informer()
		}
		if slices.Contains(extra, defaultevictor.PodsWithPVC) && protectsStorageClasses(args) {
			factory.Core().V1().PersistentVolumeClaims().Informer()
		}
	}
}

// protectsStorageClasses reports whether protection depends on the storage classes of
// claims, so that claims have to be watched.
func protectsStorageClasses(args *defaultevictor.DefaultEvictorArgs) bool {
	config := args.PodProtections.Config
	return config != nil && config.PodsWithPVC != nil && len(config.PodsWithPVC.ProtectedStorageClasses) > 0
}

// ReadsTransitions reports whether PodLifeTime uses the time since a pod condition
// changed. No other plugin can.
func ReadsTransitions(p *api.DeschedulerPolicy) bool {
	for args := range argsOf[*podlifetime.PodLifeTimeArgs](p) {
		if slices.ContainsFunc(args.Conditions, func(f podlifetime.PodConditionFilter) bool { return f.MinTimeSinceLastTransitionSeconds != nil }) {
			return true
		}
	}
	return false
}

// argsOf yields the arguments of one type from all profiles.
func argsOf[T runtime.Object](p *api.DeschedulerPolicy) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, profile := range p.Profiles {
			for _, config := range profile.PluginConfigs {
				if args, ok := config.Args.(T); ok && !yield(args) {
					return
				}
			}
		}
	}
}
