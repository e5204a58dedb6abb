package placement

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/cache"
	resourceslicetracker "k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// newResourceManager returns the plugins' view of claims, slices and device
// classes, or an empty one if the cluster has no such API. The returned
// functions report whether the manager's handlers have caught up with the
// informers.
func newResourceManager(ctx context.Context, cfg Config) (fwk.SharedDRAManager, []cache.InformerSynced, error) {
	if !cfg.DynamicResources {
		return noResources{}, nil, nil
	}
	logger := klog.FromContext(ctx)
	api := cfg.Informers.Resource().V1()
	claims := assumecache.NewAssumeCache(logger, api.ResourceClaims().Informer(), "ResourceClaim", "", nil)
	slices, err := resourceslicetracker.StartTracker(ctx, resourceslicetracker.Options{
		EnableConsumableCapacity: feature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity),
		SliceInformer:            api.ResourceSlices(),
		KubeClient:               cfg.Client,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("starting resource slice tracker: %w", err)
	}
	synced := []cache.InformerSynced{claims.AddEventHandler(cache.ResourceEventHandlerFuncs{}).HasSynced}
	manager := dynamicresources.NewDRAManager(ctx, claims, slices, cfg.Informers)
	// The scheduler feeds the resolver of extended resources from its own event handlers.
	// Without them, the resolver would not know any device class.
	if handler, ok := manager.DeviceClassResolver().(cache.ResourceEventHandler); ok {
		registration, err := api.DeviceClasses().Informer().AddEventHandler(handler)
		if err != nil {
			return nil, nil, fmt.Errorf("watching device classes: %w", err)
		}
		synced = append(synced, registration.HasSynced)
	}
	return manager, synced, nil
}

// noResources replaces the manager when DynamicResources is disabled. It is called only
// by NodeResourcesFit, which asks for every pod whether a device class provides one of
// the pod's extended resources.
type noResources struct{}

var (
	_ fwk.SharedDRAManager    = noResources{}
	_ fwk.DeviceClassResolver = noResources{}
)

func (noResources) ResourceClaims() fwk.ResourceClaimTracker                { return nil }
func (noResources) ResourceSlices() fwk.ResourceSliceLister                 { return nil }
func (noResources) DeviceClasses() fwk.DeviceClassLister                    { return nil }
func (n noResources) DeviceClassResolver() fwk.DeviceClassResolver          { return n }
func (noResources) PodGroups() fwk.PodGroupLister                           { return nil }
func (noResources) GetDeviceClass(v1.ResourceName) *resourceapi.DeviceClass { return nil }
