package app

import (
	"fmt"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/internal/sim"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// simPolicy is a LoadPolicy as a replay takes it.
func simPolicy(load *policy.LoadPolicy) (*sim.Policy, error) {
	args := &policy.RealUsageLowNodeUtilizationArgs{}
	policy.SetDefaults_RealUsageLowNodeUtilizationArgs(args)
	observing, err := settings.Observing(load, nil)
	if err != nil {
		return nil, fmt.Errorf("resolving the lines: %w", err)
	}
	e := &load.Eviction
	evicting, err := evictor.SettingsOf(e)
	if err != nil {
		return nil, err
	}
	return &sim.Policy{
		Observer: observing,
		Args:     args,
		Options: realusage.Options{
			MaxMoves: e.MaxMovesPerCycle, MinGainPercent: e.MinGainPercent, SchedulerNames: e.SchedulerNames,
		},
		Evicting: evicting,
	}, nil
}
