// Package realusage is RealUsageLowNodeUtilization as a plugin of the
// descheduler framework. It gathers the planner's input from the framework and
// the cluster, has the plan made and hands it to an Executor. All decisions are
// left to its package plan.
package realusage

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
	"github.com/evenkeel/evenkeel/usage/forecast"
)

// Name is the plugin's name in a DeschedulerPolicy.
const Name = policy.RealUsageLowNodeUtilizationName

// Half is the evicting half as the plugin uses it: about several pods at once.
type Half interface {
	// Observe returns what is known now and whether that suffices to evict.
	Observe() strategies.Observed
	// Session opens a what-if session on the current cluster.
	Session(ctx context.Context) (*placement.Session, error)
	// Refuse returns why a pod may not be moved, for reasons outside this
	// package; empty if it may.
	Refuse(pod *v1.Pod) reasons.Reason
	// Protection returns why a pod is protected whatever else is moved, and what
	// says so, such as the key of an annotation; empty if nothing does.
	Protection(pod *v1.Pod) (reasons.Reason, string)
	// Disruption is what moving a pod costs.
	Disruption(pod *v1.Pod) strategies.Disruption
	// Surges reports whether a pod is evicted only once a second is ready.
	Surges(pod *v1.Pod) bool
	// Moving reports whether a pod is already being moved.
	Moving(podUID string) bool
}

// Executor carries out a plan: it makes its moves or prints them.
type Executor interface {
	// Execute gets evict, which takes one pod through the framework's filters
	// and evictor.
	Execute(ctx context.Context, made Made, evict func(context.Context, *v1.Pod, reasons.Reason) error)
}

// Deps is what the plugin needs beyond the framework's handle.
type Deps struct {
	Half     Half
	Executor Executor
	// Options are the policy's rules about pods.
	Options Options
}

// Made is a plan and its input.
type Made struct {
	Plan     strategies.Plan
	Observed strategies.Observed
	// Closed is why no plan was made; empty if one was.
	Closed string
	// Input is the plan's input without its Placement; empty if there is no
	// plan.
	Input plan.Input
	// By is the plugin that made it, which can explain it.
	By *Plugin
}

// Options are a policy's rules about pods and plans.
type Options struct {
	MaxMoves       int
	MinGainPercent float64
	// MinHotTimeSaved is how much less nodes have to be hot for a move.
	MinHotTimeSaved time.Duration
	// Recurs is after how long usage comes back; without a Period no pod is moved
	// before its node is hot.
	Recurs forecast.Clock
	// Unforeseen: nothing is expected, so moves have to save nothing.
	Unforeseen     bool
	EvictJobs      bool
	SchedulerNames []string
	// AcrossZones and AcrossCapacityTypes allow moves to nodes of another zone,
	// and between spot and other nodes.
	AcrossZones, AcrossCapacityTypes bool
}

// OptionsOf returns what a policy says of pods and plans.
func OptionsOf(e *policy.Eviction) Options {
	options := Options{
		MaxMoves: e.MaxMovesPerCycle, MinGainPercent: e.MinGainPercent, MinHotTimeSaved: e.MinHotTimeSaved.Duration, EvictJobs: e.EvictJobs, SchedulerNames: e.SchedulerNames,
		AcrossZones: e.AcrossZones, AcrossCapacityTypes: e.AcrossCapacityTypes,
		Recurs: forecast.Clock{Period: e.Recurs()}, Unforeseen: e.Forecast == policy.ForecastNone,
	}
	if options.Unforeseen {
		options.MinHotTimeSaved = 0
	}
	return options
}

// Register adds the plugin to a registry of the framework. deps is called only
// when the plugin is built: decoding a policy already needs the registration,
// before the dependencies exist.
func Register(registry pluginregistry.Registry, deps func() Deps) {
	build := func(_ context.Context, args runtime.Object, handle frameworktypes.Handle) (frameworktypes.Plugin, error) {
		return New(args, handle, deps())
	}
	pluginregistry.Register(Name, build, &Plugin{}, &policy.RealUsageLowNodeUtilizationArgs{},
		policy.ValidateRealUsageLowNodeUtilizationArgs, policy.SetDefaults_RealUsageLowNodeUtilizationArgs, registry)
}

// Plugin is RealUsageLowNodeUtilization.
type Plugin struct {
	args   *policy.RealUsageLowNodeUtilizationArgs
	handle frameworktypes.Handle
	deps   Deps
}

// New returns the plugin.
func New(object runtime.Object, handle frameworktypes.Handle, deps Deps) (*Plugin, error) {
	args, ok := object.(*policy.RealUsageLowNodeUtilizationArgs)
	if !ok {
		return nil, fmt.Errorf("%s: unexpected arguments of type %T", Name, object)
	}
	if deps.Half == nil || deps.Executor == nil {
		return nil, errors.New("realusage: Half and Executor must be set")
	}
	return &Plugin{args: args, handle: handle, deps: deps}, nil
}

// GoesBy reports whether these very arguments are the plugin's: those of its profile,
// which may equal another one's.
func (p *Plugin) GoesBy(args *policy.RealUsageLowNodeUtilizationArgs) bool { return p.args == args }

// Name returns the plugin's name.
func (p *Plugin) Name() string { return Name }
