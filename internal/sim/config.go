package sim

import (
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/descheduler/pkg/framework/plugins/nodeutilization"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// Policy is a policy as Evenkeel's rooms take it.
type Policy struct {
	// Observer lacks Sources, Now, Listener and Metrics, which a run has of its
	// own.
	Observer observer.Config
	Args     *policy.RealUsageLowNodeUtilizationArgs
	Options  realusage.Options
	Evicting evictor.Settings
}

// Variant is who evicts and who places.
type Variant struct {
	Name string
	// Policy is Evenkeel's; nil for none of it. Evicts says that it evicts,
	// Steers that it answers kube-scheduler.
	Policy         *Policy
	Evicts, Steers bool
	// Upstream are the arguments of upstream's LowNodeUtilization; nil for none
	// of it.
	Upstream *nodeutilization.LowNodeUtilizationArgs
	// Oracle moves pods every hour to where the coming hour wants them.
	Oracle bool
}

// Config is a run.
type Config struct {
	Fleet    *Fleet
	Variants []Variant
	// Steps is how many to play; 0 plays the whole trace.
	Steps int
	// WarmUp is how many steps pass before anything is scored.
	WarmUp int
	// Every is the time between two cycles, a multiple of Step; Lag how late in
	// its step a cycle runs, on what was measured up to the step's beginning;
	// Gap how long a pod is away when it is moved.
	Every, Lag, Gap time.Duration
	// HotLinePercent is the usage above which node-time counts as hot.
	HotLinePercent float64
	// ExtenderWeight is that of kube-scheduler's configuration.
	ExtenderWeight int64
	// DeploysPerDay is how often each owner is deployed anew, on average,
	// beside what the fleet says.
	DeploysPerDay float64
	// MaxUnavailablePercent is what each owner's PodDisruptionBudget lets be
	// away of its pods, rounded up; 100 for none.
	MaxUnavailablePercent int
	Seed                  uint64
	// KeepUsage keeps the usage of every node and step in the results.
	KeepUsage bool
	// Progress, which may be nil, is reported every step.
	Progress func(variant string, step, steps int)
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

// Validate says what cannot be played.
func (c *Config) Validate() error {
	switch {
	case c.Fleet == nil || len(c.Fleet.Replicas) == 0:
		return errors.New("a fleet with at least one pod is wanted")
	case len(c.Variants) == 0:
		return errors.New("at least one variant is wanted")
	case c.Every < Step || c.Every%Step != 0:
		return fmt.Errorf("%v between cycles: a multiple of %v is wanted", c.Every, Step)
	case c.Lag < 0 || c.Lag >= Step || c.Gap < 0 || c.Gap > time.Hour:
		return fmt.Errorf("a lag of %v, a gap of %v: a lag under %v and a gap of at most 1h are wanted", c.Lag, c.Gap, Step)
	case c.Steps < 0 || c.WarmUp < 0:
		return errors.New("steps cannot be negative")
	}
	return c.validateShares()
}

// validateShares is careful with NaN: it is in no range.
func (c *Config) validateShares() error {
	switch {
	case !(c.DeploysPerDay >= 0 && c.DeploysPerDay <= mostDeploys):
		return fmt.Errorf("%v deploys of each owner a day: 0 to %d are possible", c.DeploysPerDay, mostDeploys)
	case c.MaxUnavailablePercent < 0 || c.MaxUnavailablePercent > noBudget:
		return fmt.Errorf("budgets of %d %%: 0 to %d are possible", c.MaxUnavailablePercent, noBudget)
	case !(c.HotLinePercent > 0 && c.HotLinePercent <= 100):
		return fmt.Errorf("a hot line of %v %%: above 0 to 100 are possible", c.HotLinePercent)
	}
	return nil
}
