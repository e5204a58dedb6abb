package app

import (
	"fmt"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/sim"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// simPolicy is a LoadPolicy as a replay takes it.
func simPolicy(load *policy.LoadPolicy) (*sim.Policy, error) {
	args := &policy.RealUsageLowNodeUtilizationArgs{}
	policy.SetDefaults_RealUsageLowNodeUtilizationArgs(args)
	set, err := linesFor(load, nil)
	if err != nil {
		return nil, fmt.Errorf("resolving the lines: %w", err)
	}
	e := &load.Eviction
	evicting, err := evictor.SettingsOf(e)
	if err != nil {
		return nil, err
	}
	return &sim.Policy{
		Observer: observer.Config{
			Usage:          usageConfig(load),
			Scorer:         scorerConfig(load),
			Lines:          set,
			Hot:            hotRule(load),
			HotWindows:     load.Hot.Windows,
			MinCoverage:    load.Usage.MinCoveragePercent,
			SampleInterval: load.Usage.SampleInterval.Duration,
			Ledger:         ledger.Config{SourceAvoidance: e.SourceAvoidance.Duration},
		},
		Args: args,
		Options: realusage.Options{
			MaxMoves: e.MaxMovesPerCycle, MinGainPercent: e.MinGainPercent, SchedulerNames: e.SchedulerNames,
		},
		Evicting: evicting,
	}, nil
}
