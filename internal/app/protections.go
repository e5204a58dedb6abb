package app

import (
	"slices"

	"k8s.io/client-go/informers"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
)

// requestProtections requests the informers behind DefaultEvictor's protections. The plugin itself asks for them only when
// it looks at a pod, which is after the informers were started.
func requestProtections(factory informers.SharedInformerFactory, p *api.DeschedulerPolicy) {
	for _, profile := range p.Profiles {
		for _, config := range profile.PluginConfigs {
			args, ok := config.Args.(*defaultevictor.DefaultEvictorArgs)
			if !ok {
				continue
			}
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
}

// protectsStorageClasses says whether claims have to be known: only by their storage classes are some protected and some not.
func protectsStorageClasses(args *defaultevictor.DefaultEvictorArgs) bool {
	config := args.PodProtections.Config
	return config != nil && config.PodsWithPVC != nil && len(config.PodsWithPVC.ProtectedStorageClasses) > 0
}
