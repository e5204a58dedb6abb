package runner

import (
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/descheduler/pkg/api"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
)

// Config is what a Runner depends on.
type Config struct {
	Policy *api.DeschedulerPolicy
	// Instance tells the plugins of this Runner from those of others on the
	// same Informers, which keep what they index under it for ever.
	Instance string
	Registry pluginregistry.Registry
	// Client is what plugins see and evict through: the evictor's Gate.
	Client kubernetes.Interface
	// REST is how metrics.k8s.io is reached, for upstream plugins that read it.
	REST *rest.Config
	// Informers are started by the caller, after New.
	Informers informers.SharedInformerFactory
	// PodsOnNode finds the pods of a node; see the function of that name.
	PodsOnNode podutil.GetPodsAssignedToNodeFunc
	Events     events.EventRecorder
	// Evicted reports whether a pod was evicted in this cycle; plugins do not
	// see it any more.
	Evicted func(podUID string) bool
	DryRun  bool
	Metrics *Metrics
	Now     func() time.Time
}
