// Package app wires Evenkeel's rooms into processes: which informers start, who
// leads, what is served, and what changes with another policy. It decides
// nothing about nodes or pods and prints nothing. Commands look into a process
// through Look.
package app

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/events"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/custom"
	"github.com/evenkeel/evenkeel/evictor/metrics"
	"github.com/evenkeel/evenkeel/evictor/pause"
	"github.com/evenkeel/evenkeel/evictor/saved"
	"github.com/evenkeel/evenkeel/internal/admission"
	"github.com/evenkeel/evenkeel/internal/announce"
	"github.com/evenkeel/evenkeel/internal/authority"
	"github.com/evenkeel/evenkeel/internal/explain/live"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/serve"
	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/runner"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// App is what lives as long as the process, whatever the policy.
type App struct {
	options Options
	parts   parts
	// active is the policy in effect.
	active atomic.Pointer[generation]
	// cycling is held during a cycle and while a policy takes effect, so that
	// each cycle uses one policy.
	cycling sync.Mutex

	kube      *kube.Connection
	registry  *prometheus.Registry
	announcer *announce.Announcer
	policies  *announce.Policies
	nodes     *announce.Nodes
	gauges    *serve.Gauges
	observer  *observer.Observer
	answerer  *steering.Answerer
	answers   *extender.Server // nil in a process that does not answer kube-scheduler
	health    *serve.Health
	// begun is when the process started, by the local clock.
	begun time.Time

	pause     *pause.Switch
	lease     *authority.Lease
	authority *authority.Authority
	// explainer answers requests to explain; nil in a process without them.
	explainer *live.Explainer
	outcomes  *metrics.Outcomes
	saved     saved.Watch // outlives policies
	// waited reports whether the process has waited for usage; only cycles use
	// it.
	waited bool

	// The fields below are nil in a process that does not evict.
	informers informers.SharedInformerFactory
	// transitions reports whether the informers keep the transition times of
	// pod conditions.
	transitions bool
	synced      []func() bool
	filters     *placement.Filters
	cluster     *evictor.Watched
	customs     *custom.Controllers
	evictions   *evictor.Client
	steering    steerings
	scaler      *evictor.DeploymentScaler
	metrics     evictingMetrics
	room        *announce.Room
	// podsOnNode serves the framework's plugins from an index, which can only
	// be added once.
	podsOnNode podutil.GetPodsAssignedToNodeFunc
	events     *announce.Log // nil in a dry run
	recorder   events.EventRecorder
}

// steerings are the ways to steer replacements. A policy chooses one.
type steerings struct {
	extender, best evictor.Steering
	admission      *admission.Steering
	// gates lets the pods go that the API server holds, to where the planner
	// says.
	gates    *admission.Gates
	watchdog *admission.Watchdog
	planner  *steering.Answerer
}

// evictingMetrics are registered once, for all policies.
type evictingMetrics struct {
	evictor *metrics.Metrics
	runner  *runner.Metrics
}

// current returns the policy in effect.
func (a *App) current() *generation { return a.active.Load() }

// eachPolicy runs a task for the policy in effect, and again for each that
// replaces it, until the context ends.
func (a *App) eachPolicy(ctx context.Context, task func(context.Context, *generation) error) error {
	for ctx.Err() == nil {
		g := a.current()
		running, stop := context.WithCancel(ctx)
		go func() {
			select {
			case <-g.retired:
				stop()
			case <-running.Done():
			}
		}()
		err := task(running, g)
		if err == nil {
			<-running.Done() // a finished task starts again only under another policy
		}
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// stop ends what was started without a context.
func (a *App) stop() {
	if a.events != nil {
		a.events.Shutdown()
	}
	if a.informers != nil {
		a.informers.Shutdown()
	}
}

// untilStopped is a task that does nothing but last, because a task that
// returns ends the process.
func untilStopped(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
