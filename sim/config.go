package sim

import (
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/descheduler/pkg/framework/plugins/nodeutilization"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/sim/contest"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// Policy is a policy in the form that Evenkeel's packages need.
type Policy struct {
	// Observer lacks Sources, Now, Listener and Metrics: each run sets its own.
	Observer observer.Config
	// Strategies run in each cycle, in this order.
	Strategies []plugin.Strategy
	Options    plugin.Options
	Evicting   evictor.Settings
	// Load is what the others were made from.
	Load *policy.LoadPolicy
}

// NewPolicy converts a LoadPolicy and strategies to the form that a replay needs.
func NewPolicy(load *policy.LoadPolicy, strategies ...plugin.Strategy) (*Policy, error) {
	given := make([]policy.Strategy, len(strategies))
	for i := range strategies {
		given[i] = strategies[i]
	}
	observing, err := settings.Observing(load, given)
	if err != nil {
		return nil, fmt.Errorf("resolving the lines: %w", err)
	}
	evicting, err := settings.Evicting(&load.Eviction)
	if err != nil {
		return nil, err
	}
	return &Policy{Observer: observing, Strategies: strategies, Options: plugin.OptionsOf(&load.Eviction), Evicting: evicting, Load: load}, nil
}

// Variant defines who evicts and who places pods.
type Variant struct {
	Name string
	// Policy is Evenkeel's policy; nil leaves Evenkeel out. Evicts lets Evenkeel evict.
	Policy *Policy
	Evicts bool
	// Steers lets Evenkeel answer kube-scheduler as its extender. Admission lets it only
	// nominate nodes for the replacements of its evictions, as if the API server steered.
	// Marks lets nodesync write to nodes what Policy enables.
	Steers, Admission, Marks bool
	// Upstream holds the arguments of upstream's LowNodeUtilization; nil leaves
	// it out.
	Upstream *nodeutilization.LowNodeUtilizationArgs
	// Rival selects another project's rules; empty for none.
	Rival contest.Name
	// Lines holds the usage in percent above which pods are moved off a node; 0 for a
	// resource without such a line, +Inf for a resource that a rival must not judge. Only
	// Koordinator reads it; the others have lines in their own settings.
	Lines cluster.Percents
	// Oracle moves pods every hour to the nodes that best suit the coming hour's usage.
	Oracle bool
}

// GCPercent is the value of GOGC for a run. Most of a run's memory holds long-lived pods.
// Collecting a little earlier keeps the peak for 15,000 nodes below 4.5 GiB, and uses a
// processor that the run does not need.
const GCPercent = 75

// Config describes a run.
type Config struct {
	Fleet    *Fleet
	Variants []Variant
	// Steps is the number of steps to play; 0 means the whole trace.
	Steps int
	// WarmUp is the number of steps before scoring begins.
	WarmUp int
	// Every is the time between two cycles, a multiple of Step. Lag is how long after the
	// beginning of a step its cycle runs; the cycle uses measurements up to the beginning of
	// the step. Gap is how long a moved pod is away.
	Every, Lag, Gap time.Duration
	// HotLinePercent is the usage above which node-time counts as hot.
	HotLinePercent float64
	// ExtenderWeight is the weight in kube-scheduler's configuration.
	ExtenderWeight int64
	// DeploysPerDay is how often each owner is deployed per day, on average, in addition to
	// the fleet's own deploys.
	DeploysPerDay float64
	// MaxUnavailablePercent is the maxUnavailable of each owner's
	// PodDisruptionBudget, rounded up; 100 means no budget.
	MaxUnavailablePercent int
	Seed                  uint64
	// MeasureServed measures pods on a full node by the CPU that they get, not by their
	// demand.
	MeasureServed bool
	// Blind defines what Evenkeel's source misses. Rivals see everything.
	Blind Blind
	// KeepUsage keeps the usage of every node and step in the results.
	KeepUsage bool
	// Progress, which may be nil, is called after every step.
	Progress func(variant string, step, steps int)
}

// Blind defines what a usage source misses.
type Blind struct {
	// HiddenPodsPercent is the percentage of pods that it never reports, wherever
	// they run. The usage of their nodes includes theirs.
	HiddenPodsPercent float64
	// LostSamplesPercent is the percentage of node and pod samples that are lost. Each step
	// loses different ones.
	LostSamplesPercent float64
	// Every is how often pods are measured, a multiple of Step; 0 means in every Step.
	Every time.Duration
}

// check also rejects NaN.
func (b *Blind) check() error {
	switch {
	case !(b.HiddenPodsPercent >= 0 && b.HiddenPodsPercent <= 100):
		return fmt.Errorf("%v%% of pods hidden: must be 0 to 100", b.HiddenPodsPercent)
	case !(b.LostSamplesPercent >= 0 && b.LostSamplesPercent <= 100):
		return fmt.Errorf("%v%% of samples lost: must be 0 to 100", b.LostSamplesPercent)
	case b.Every < 0 || b.Every > time.Hour || b.Every%Step != 0:
		return fmt.Errorf("pods measured every %v: must be a multiple of %v, at most 1h", b.Every, Step)
	}
	return nil
}

// The defaults of a Config.
const (
	DefaultWarmUp         = 12
	DefaultEvery          = 5 * time.Minute
	DefaultLag            = 30 * time.Second
	DefaultGap            = 30 * time.Second
	DefaultHotLine        = 70
	DefaultExtenderWeight = 15
	DefaultMaxUnavailable = 10
)

// Validate reports the first setting that cannot be simulated.
func (c *Config) Validate() error {
	switch {
	case c.Fleet == nil || len(c.Fleet.Replicas) == 0:
		return errors.New("the fleet has no pods")
	case len(c.Variants) == 0:
		return errors.New("no variant to play")
	case c.Every < Step || c.Every%Step != 0:
		return fmt.Errorf("%v between cycles: must be a multiple of %v", c.Every, Step)
	case c.Lag < 0 || c.Lag >= Step || c.Gap < 0 || c.Gap > time.Hour:
		return fmt.Errorf("a lag of %v, a gap of %v: the lag must be from 0s to below %v and the gap from 0s to 1h", c.Lag, c.Gap, Step)
	case c.Steps < 0 || c.WarmUp < 0:
		return fmt.Errorf("%d steps, %d of them to warm up: both must be 0 or more", c.Steps, c.WarmUp)
	case c.ExtenderWeight < 1:
		return fmt.Errorf("an extender weight of %d: must be 1 or more, as in kube-scheduler's configuration", c.ExtenderWeight)
	}
	return c.validateShares()
}

// validateShares also rejects NaN, because every comparison with it is false.
func (c *Config) validateShares() error {
	if err := c.Blind.check(); err != nil {
		return err
	}
	switch {
	case !(c.DeploysPerDay >= 0 && c.DeploysPerDay <= maxDeploysPerDay):
		return fmt.Errorf("%v deploys per owner per day: must be 0 to %d", c.DeploysPerDay, maxDeploysPerDay)
	case c.MaxUnavailablePercent < 0 || c.MaxUnavailablePercent > noBudget:
		return fmt.Errorf("maxUnavailable of %d%%: must be 0 to %d", c.MaxUnavailablePercent, noBudget)
	case !(c.HotLinePercent > 0 && c.HotLinePercent <= 100):
		return fmt.Errorf("a hot line of %v%%: must be above 0 and at most 100", c.HotLinePercent)
	}
	return nil
}
