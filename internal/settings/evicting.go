package settings

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/safeguards"
)

// probeTimeout is the ProbeTimeout of every policy.
const probeTimeout = 45 * time.Second

// Evicting returns the settings of the evicting half.
func Evicting(e *policy.Eviction) (evictor.Settings, error) {
	calendar, err := e.Calendar()
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
		OwnerPercent: e.MaxInFlightPercentOfOwner, Safeguards: safeguardsOf(e), Calendar: calendar,
		Recreating: recreating,
	}, nil
}

func safeguardsOf(e *policy.Eviction) *safeguards.Rules {
	return safeguards.New(safeguards.Config{
		MaxPerHour:            e.MaxMovesPerHour,
		MaxPerHourOfNamespace: e.MaxMovesPerHourOfNamespace,
		MaxPerHourOfOwner:     e.MaxMovesPerHourOfOwner,
		MaxPerHourOfPool:      e.MaxMovesPerHourOfNodePool,
		NodeSettle:            e.NodeSettle.Duration,
		MoveTTL:               e.MoveTTL.Duration,
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
	})
}
