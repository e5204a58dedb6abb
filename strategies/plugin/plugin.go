// Package plugin turns a strategy into a plugin of the descheduler framework, which
// provides its arguments and the filters of its profile. It gathers the input of
// strategies. The type of a strategy's arguments is the strategy: it has a method that
// plans. Package registry lists the strategies.
package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// Planner decides which pods to move and to which nodes.
type Planner interface {
	// Describe describes the planner to other packages.
	Describe() policy.StrategyDescription
	// Plan plans one cycle and has no side effects. The plan moves only pods that round
	// allows to be moved, each to a node that accepts it.
	Plan(ctx context.Context, round *Round) (Result, error)
}

// Strategy is one of Evenkeel's own Planners, implemented by a pointer to its arguments.
type Strategy interface {
	policy.Strategy

	// Plan plans one cycle, by calling round.Move or by returning its own plan, and has
	// no side effects. Either way, the round enforces the policy's rules.
	Plan(ctx context.Context, round *Round) (Result, error)
}

// Result is what a strategy has planned.
type Result struct {
	// Plan is a plan that the strategy made itself. Moves in it that break a rule are
	// declined. A strategy that calls Round.Move leaves it empty.
	Plan strategies.Plan
	// Closed explains why nothing is planned; empty if planning is possible.
	Closed string
	// Basis answers questions about the state that the strategy planned on.
	Basis strategies.Basis
	// Unwanted returns why the strategy would not move the explained pod to a node although
	// the rules allow it; empty if it would. A nil Unwanted means that the strategy would
	// move the pod to any node.
	Unwanted func(to *Node) reasons.Reason
	// MaxPerNode is the maximum number of moves off a node in one cycle; 0 means
	// unlimited.
	MaxPerNode int
}

// Half is the part of the evicting half that strategies use. Its methods may be called
// concurrently for several pods.
type Half interface {
	// Observe returns the newest observation, and whether evictions may be based on it.
	Observe() strategies.Observed
	// Session opens a what-if session on the current cluster, in which moves in flight
	// and supposed moves count as made.
	Session(ctx context.Context, supposed []strategies.Move) (*placement.Session, error)
	// Refuse returns why a pod must not be moved for a profile; empty if it may be moved.
	Refuse(ctx context.Context, pod *strategies.Candidate, profile *strategies.Profile) reasons.Reason
	// Protection returns why a pod is protected regardless of what else is moved, and
	// what protects it, such as the key of an annotation; empty if it is not protected.
	Protection(pod *v1.Pod) (reasons.Reason, string)
	// Disruption returns what moving a pod costs.
	Disruption(pod *v1.Pod) strategies.Disruption
	// Moving reports whether a pod is already being moved.
	Moving(podUID string) bool
}

// Deps is what a strategy needs beyond the framework's handle.
type Deps struct {
	Half Half
	// Profile is the name of the profile that the strategy plans for.
	Profile string
	// Options are the policy's rules about pods.
	Options Options
	// DryRun reports whether the plugin's moves are only logged.
	DryRun bool
}

// Options are a policy's rules about pods and plans.
type Options struct {
	MaxMoves       int
	MinGainPercent float64
	// MinHotTimeSaved is the minimum expected reduction in hot time that justifies a
	// move.
	MinHotTimeSaved time.Duration
	// Recurs is the period after which usage recurs. Without a Period, no pod is moved
	// before its node is hot.
	Recurs forecast.Clock
	// Unforeseen reports whether moves are planned without a forecast, so that they need
	// not save hot time.
	Unforeseen bool
	// AcrossZones allows moves to nodes in another zone, AcrossCapacityTypes moves
	// between spot and other nodes.
	AcrossZones, AcrossCapacityTypes bool
}

// OptionsOf returns a policy's rules about pods and plans.
func OptionsOf(e *policy.Eviction) Options {
	options := Options{
		MaxMoves: e.MaxMovesPerCycle, MinGainPercent: e.MinGainPercent, MinHotTimeSaved: e.MinHotTimeSaved.Duration,
		AcrossZones: e.AcrossZones, AcrossCapacityTypes: e.AcrossCapacityTypes,
		Recurs: forecast.Clock{Period: e.Recurs()}, Unforeseen: e.Forecast == policy.ForecastNone,
	}
	if options.Unforeseen {
		options.MinHotTimeSaved = 0
	}
	return options
}

// Within returns the domain that pods of a node must not leave according to the policy,
// and the zone that they leave only if no node there takes them.
func (o *Options) Within(site cluster.Site) (domain, zone string) {
	if site.Zone != "" && !o.AcrossZones {
		domain = "zone " + site.Zone
	}
	if site.Spot && !o.AcrossCapacityTypes {
		domain = strings.TrimSpace(domain + " spot")
	}
	return domain, site.Zone
}

// Register adds strategies to a registry of the framework, so that policies can be
// decoded and validated. A cycle builds the strategies with New.
func Register(registry pluginregistry.Registry, all []Strategy) {
	for _, strategy := range all {
		name := strategy.Describe().Name
		build := func(context.Context, runtime.Object, frameworktypes.Handle) (frameworktypes.Plugin, error) {
			return nil, errors.New("plugin: only a cycle runs strategies")
		}
		validate := func(args runtime.Object) error {
			given, ok := args.(Strategy)
			if !ok {
				return fmt.Errorf("arguments of type %T given to %s", args, name)
			}
			return policy.ValidateStrategy(given)
		}
		setDefaults := func(args runtime.Object) {
			if given, ok := args.(Strategy); ok {
				given.SetDefaults()
			}
		}
		delete(registry, name)
		pluginregistry.Register(name, build, &Plugin{}, strategy, validate, setDefaults, registry)
	}
}

// Plugin is a strategy as a plugin of the framework.
type Plugin struct {
	planner Planner
	is      policy.StrategyDescription
	handle  frameworktypes.Handle
	deps    Deps
}

// New returns the plugin of a strategy.
func New(args runtime.Object, handle frameworktypes.Handle, deps Deps) (*Plugin, error) {
	strategy, ok := args.(Strategy)
	if !ok {
		return nil, fmt.Errorf("unexpected arguments of type %T, which no strategy has", args)
	}
	return Of(strategy, handle, deps)
}

// Of returns the plugin of a planner.
func Of(planner Planner, handle frameworktypes.Handle, deps Deps) (*Plugin, error) {
	if deps.Half == nil {
		return nil, errors.New("plugin: Half must be set")
	}
	return &Plugin{planner: planner, is: planner.Describe(), handle: handle, deps: deps}, nil
}

// Describe returns what others need to know about the strategy.
func (p *Plugin) Describe() policy.StrategyDescription { return p.is }

// Name returns the plugin's name.
func (p *Plugin) Name() string { return p.is.Name }

// Is reports whether the plugin runs with this very arguments object, which belongs to
// one profile. Another profile may have equal arguments.
func (p *Plugin) Is(args policy.Strategy) bool { return any(p.planner) == any(args) }

// DryRun reports whether the plugin's moves are only logged.
func (p *Plugin) DryRun() bool { return p.deps.DryRun }

// Profile returns the profile that the plugin plans for.
func (p *Plugin) Profile() *strategies.Profile {
	filters := p.handle.Evictor()
	return &strategies.Profile{
		Name: p.deps.Profile, Strategy: p.Name(), Filter: filters.Filter, PreEvictionFilter: filters.PreEvictionFilter, Spares: p.is.Spares,
		Hosted: p.is.Hosted, DryRun: p.deps.DryRun,
	}
}

// disruption returns what moving a pod costs, given the pods that were moved within the
// last day.
func (p *Plugin) disruption(pod *v1.Pod, moved map[string]bool) strategies.Disruption {
	d := p.deps.Half.Disruption(pod)
	d.Again = moved[string(pod.UID)]
	return d
}

// Balance makes the strategy a balance plugin, so that profiles can enable it. The
// framework never calls Balance, because cycles run the strategies themselves.
func (p *Plugin) Balance(context.Context, []*v1.Node) *frameworktypes.Status {
	return &frameworktypes.Status{Err: errors.New("plugin: only a cycle runs strategies")}
}
