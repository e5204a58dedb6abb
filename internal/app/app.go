// Package app wires Evenkeel's rooms into processes: which informers start, who
// leads, what is served, and what changes with another policy. It decides
// nothing about nodes or pods and prints nothing; what commands see of a
// process is Look.
package app

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/events"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/announce"
	"github.com/evenkeel/evenkeel/internal/authority"
	"github.com/evenkeel/evenkeel/internal/explain/desk"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/serve"
	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/runner"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// parts says what a process needs.
type parts struct {
	evicting bool // runs cycles
	serving  bool // answers kube-scheduler
	marking  bool // does nothing but publish on nodes
	// onlyRealUsage leaves every other plugin of the policy out: plan shows
	// what Evenkeel's own would do.
	onlyRealUsage bool
	// notes is where to print what became of an earlier system's policy,
	// instead of the log.
	notes io.Writer
	// execute replaces the Executor: plan prints instead.
	execute func(ctx context.Context, made realusage.Made)
}

// App is what lasts as long as the process does, whatever the policy.
type App struct {
	options Options
	parts   parts
	// active is the policy at work.
	active atomic.Pointer[generation]
	// cycling is held during a cycle and while a policy is put to work, so that
	// a cycle is made by one policy.
	cycling sync.Mutex

	kube      *kube.Connection
	registry  *prometheus.Registry
	announcer *announce.Announcer
	policies  *announce.Policies
	observer  *observer.Observer
	judge     *steering.Judge
	answers   *extender.Server // by the judge; nil in a process that answers nobody
	health    *serve.Health
	// started is when the process was, begun the same by the local clock.
	started, begun time.Time

	lease     *authority.Lease
	authority *authority.Authority
	// desk answers what is asked to be explained; nil in a process that is not
	// asked.
	desk     *desk.Desk
	outcomes *evictor.Outcomes
	// waited says that usage has been waited for; the cycles' own.
	waited bool

	// The rest is nil in a process that does not evict.
	informers informers.SharedInformerFactory
	// transitions says that the pods of informers tell since when their
	// conditions are as they are.
	transitions bool
	synced      []func() bool
	filters     *placement.Filters
	cluster     *evictor.Watched
	evictions   *evictor.Client
	steering    evictor.Steering
	scaler      *evictor.DeploymentScaler
	metrics     evictingMetrics
	// podsOnNode serves the framework's plugins from an index, which can be
	// added only once.
	podsOnNode podutil.GetPodsAssignedToNodeFunc
	events     *announce.Log // nil in a dry run
	recorder   events.EventRecorder
}

// evictingMetrics are registered once, for all policies.
type evictingMetrics struct {
	evictor *evictor.Metrics
	runner  *runner.Metrics
}

// current is the policy at work.
func (a *App) current() *generation { return a.active.Load() }

// eachPolicy runs a task for the policy at work, and again for each that takes
// its place, until the context ends.
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
			<-running.Done() // a task that has ended starts again only under another policy
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

// untilStopped is a task with nothing to do: one that ends ends the process.
func untilStopped(ctx context.Context) error {
	<-ctx.Done()
	return nil
}
