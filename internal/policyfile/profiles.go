package policyfile

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/podlifetime"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// KeepOnlyRealUsage leaves only RealUsageLowNodeUtilization enabled, in the
// first profile that has it. If none does, no profile is left: what is shown of a
// policy is what that policy does. It returns the names of the other profiles that
// have it.
func KeepOnlyRealUsage(p *api.DeschedulerPolicy) (others []string) {
	p.MetricsProviders, p.MetricsCollector = nil, nil // it reads the observer
	for i := range p.Profiles {
		plugins := &p.Profiles[i].Plugins
		if slices.Contains(plugins.Balance.Enabled, realusage.Name) {
			plugins.Deschedule.Enabled = nil
			plugins.Balance.Enabled = []string{realusage.Name}
			others = Unplanned(p)
			p.Profiles = p.Profiles[i : i+1]
			return others
		}
	}
	p.Profiles = nil
	return nil
}

// Unplanned returns the names of the profiles behind the first that also move pods by
// usage. Where one plan is shown, it is that of the first.
func Unplanned(p *api.DeschedulerPolicy) (names []string) {
	for i := range p.Profiles {
		if policy.RealUsageArgsOf(&p.Profiles[i]) != nil {
			names = append(names, p.Profiles[i].Name)
		}
	}
	return names[min(1, len(names)):]
}

// Protection returns the DefaultEvictor's arguments in the first profile that
// moves pods by usage.
func Protection(p *api.DeschedulerPolicy) runtime.Object {
	for i := range p.Profiles {
		if policy.RealUsageArgsOf(&p.Profiles[i]) != nil {
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

// protectsStorageClasses reports whether protection depends on the storage
// classes of claims, so that claims have to be known.
func protectsStorageClasses(args *defaultevictor.DefaultEvictorArgs) bool {
	config := args.PodProtections.Config
	return config != nil && config.PodsWithPVC != nil && len(config.PodsWithPVC.ProtectedStorageClasses) > 0
}

// ReadsTransitions reports whether PodLifeTime uses the time since a condition
// of a pod changed; no other plugin can.
func ReadsTransitions(p *api.DeschedulerPolicy) bool {
	for args := range argsOf[*podlifetime.PodLifeTimeArgs](p) {
		if slices.ContainsFunc(args.Conditions, func(f podlifetime.PodConditionFilter) bool { return f.MinTimeSinceLastTransitionSeconds != nil }) {
			return true
		}
	}
	return false
}

// argsOf yields the arguments of a type in all profiles.
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
