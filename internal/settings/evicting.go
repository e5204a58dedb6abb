package settings

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/policy"
)

// probeTimeout is the ProbeTimeout under every policy.
const probeTimeout = 45 * time.Second

// Evicting returns the settings of the evicting half.
func Evicting(e *policy.Eviction) (evictor.Settings, error) {
	calendar, err := e.Calendar()
	if err != nil {
		return evictor.Settings{}, err
	}
	rules, err := safeguardsOf(e)
	if err != nil {
		return evictor.Settings{}, err
	}
	var recreating []schema.GroupKind
	for _, kind := range e.RecreatingControllers {
		recreating = append(recreating, schema.ParseGroupKind(kind))
	}
	return evictor.Settings{
		Interval: e.Interval.Duration, Deadline: e.CycleDeadline.Duration, MoveTTL: e.MoveTTL.Duration,
		ProbeTimeout: probeTimeout, OwnerSettle: e.OwnerSettle.Duration, OutcomeAfter: e.OutcomeAfter.Duration,
		OwnerPercent: e.MaxInFlightPercentOfOwner, Safeguards: rules, Calendar: calendar,
		Recreating: recreating, EvictJobs: e.EvictJobs, SchedulerNames: e.SchedulerNames,
	}, nil
}

func safeguardsOf(e *policy.Eviction) (*safeguards.Rules, error) {
	number, percent, err := numberOrPercent(e.MaxMovesPerHour)
	if err != nil {
		return nil, fmt.Errorf("reading eviction.maxMovesPerHour: %w", err)
	}
	numberOfOwner, percentOfOwner, err := numberOrPercent(e.MaxMovesPerHourOfOwner)
	if err != nil {
		return nil, fmt.Errorf("reading eviction.maxMovesPerHourOfOwner: %w", err)
	}
	return safeguards.New(safeguards.Config{
		MaxPerHour:               number,
		MaxPercentPerHour:        percent,
		MaxPerHourOfNamespace:    e.MaxMovesPerHourOfNamespace,
		MaxPerHourOfOwner:        numberOfOwner,
		MaxPercentPerHourOfOwner: percentOfOwner,
		MaxPerHourOfPool:         e.MaxMovesPerHourOfNodePool,
		NodeSettle:               e.NodeSettle.Duration,
		MoveTTL:                  e.MoveTTL.Duration,
		Cooldown: safeguards.Cooldown{
			Always: e.Cooldown.Always.Duration, Base: e.Cooldown.Base.Duration, Max: e.Cooldown.Max.Duration,
		},
		Breaker: safeguards.Breaker{
			MaxPending:         e.Breaker.MaxPendingReplacements,
			PendingAfter:       e.Breaker.PendingAfter.Duration,
			MaxUnready:         e.Breaker.MaxUnreadyReplacements,
			UnreadyAfter:       e.Breaker.UnreadyAfter.Duration,
			MaxRefusedPercent:  e.Breaker.MaxRefusedPercent,
			MaxErrors:          e.Breaker.MaxErrors,
			Rest:               e.Breaker.Rest.Duration,
			MaxNotReadyPercent: e.Breaker.MaxNotReadyPercent,
			MaxDrainingPercent: e.Breaker.MaxDrainingPercent, MaxUnschedulablePercent: e.Breaker.MaxUnschedulablePercent,
			StandBack: e.Breaker.StandBack.Duration,
		},
	}), nil
}

// numberOrPercent returns a value as a number or a percentage.
func numberOrPercent(value intstr.IntOrString) (number, percent int, err error) {
	if value.Type == intstr.Int {
		return int(value.IntVal), 0, nil
	}
	percent, err = intstr.GetScaledValueFromIntOrPercent(&value, 100, false)
	return 0, percent, err
}
