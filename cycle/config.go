package cycle

import (
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/descheduler/pkg/api"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// Config is what a Runner depends on.
type Config struct {
	Policy *api.DeschedulerPolicy
	// Evictor decides what may be moved; Executor makes the moves.
	Evictor  *evictor.Evictor
	Executor Executor
	// Options are the policy's rules about pods and plans.
	Options plugin.Options
	// Instance distinguishes this Runner's plugins from those of other Runners
	// on the same Informers, because these never drop an index once it is added under a
	// name.
	Instance string
	Registry pluginregistry.Registry
	// Client makes the client that plugins read and evict with: the evictor's Clientset,
	// which also enforces the policy's limits. DryRunClient makes that of plugins in dry
	// run.
	Client, DryRunClient func(evictor.Place) kubernetes.Interface
	// REST is for access to metrics.k8s.io, for upstream plugins that read it.
	REST *rest.Config
	// Informers are started by the caller, after New.
	Informers informers.SharedInformerFactory
	// PodsOnNode finds the pods of a node. The function PodsOnNode returns it.
	PodsOnNode podutil.GetPodsAssignedToNodeFunc
	Events     events.EventRecorder
	// Landings reports whether the evictions of upstream plugins are planned by package
	// hosted. Evictor must then have everything that planned moves require.
	Landings bool
	// Evicted reports whether a pod was evicted in this cycle and must be hidden
	// from plugins.
	Evicted func(podUID string) bool
	// Total counts the evictions of this cycle.
	Total  func() uint
	DryRun bool
	// DryRunPlugins names the plugins in dry run. BeginDryRun is called before each of their
	// turns.
	DryRunPlugins []string
	BeginDryRun   func()
	Metrics       *Metrics
	Now           func() time.Time
}
