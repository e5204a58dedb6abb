package policy

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// Default returns a complete LoadPolicy. Every call returns a new copy.
func Default(kinds source.Kinds) LoadPolicy {
	p := defaults()
	p.Usage.Sources = []Source{NewSource(defaultSource, kinds)}
	return p
}

// defaults is the only place with default values, except for those of the sources, which define their own.
func defaults() LoadPolicy {
	return LoadPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: GroupVersion, Kind: LoadPolicyKind},
		Usage: Usage{
			SampleInterval:     duration(15 * time.Second),
			MaxAge:             duration(90 * time.Second),
			MinCoveragePercent: 80,
			QueriesPerSecond:   5,
			Timeout:            duration(10 * time.Second),
			ObservationPeriod:  duration(150 * time.Second),
		},
		Lines: Lines{
			usage.CPU:    {Levels: levels(45, 60, 65, 60)},
			usage.Memory: {Levels: levels(60, 75, 80, 75)},
		},
		MinGapPercent: 3,
		Hot: Hot{
			Windows: []usage.Window{
				usage.Avg5m,
				{Kind: usage.KindQuantile, Percentile: 50, Over: 5 * time.Minute},
				{Kind: usage.KindAvg, Over: 15 * time.Minute},
			},
			ConsecutiveSamples: 3,
			MinWindow:          duration(150 * time.Second),
			Startup:            duration(3 * time.Minute),
			RisingMemory:       RisingMemory{Window: duration(time.Minute), FullPercent: 95, Within: duration(3 * time.Minute)},
		},
		Scoring: Scoring{
			Weights: map[v1.ResourceName]int64{v1.ResourceCPU: 1, v1.ResourceMemory: 1},
			Estimate: Estimate{
				CPUPercentOfRequest:    85,
				MemoryPercentOfRequest: 70,
				DefaultCPU:             resource.MustParse("250m"),
				DefaultMemory:          resource.MustParse("200Mi"),
			},
			DampPercent: 5,
		},
		Eviction: defaultEviction(),
		NodeSync: NodeSync{
			Annotations: NodeSyncAnnotations{
				Windows: []usage.Window{
					usage.Avg5m,
					{Kind: usage.KindMaxAvg, Over: time.Hour},
					{Kind: usage.KindMaxAvg, Over: 24 * time.Hour},
				},
				Unit:     source.Fraction,
				Timezone: "UTC",
				Periods:  source.Periods(),
			},
			Label:       NodeSyncLabel{Key: "status", Value: "presure"},
			Taint:       NodeSyncTaint{Key: "evenkeel.io/hot", Value: "true"},
			RejectTaint: NodeSyncTaint{Key: "evenkeel.io/above-reject", Value: "true"},
		},
	}
}

func defaultEviction() Eviction {
	return Eviction{
		DefaultProfile:         true,
		DryRunPlugins:          []string{},
		Steering:               SteeringAuto,
		CycleDeadline:          duration(10 * time.Minute),
		Interval:               duration(200 * time.Millisecond),
		MaxMovesPerCycle:       100,
		MaxMovesPerHour:        intstr.FromString("5%"),
		MaxMovesPerHourOfOwner: intstr.FromString("50%"),
		MinGainPercent:         0.5,
		MinHotTimeSaved:        duration(10 * time.Minute),
		Forecast:               ForecastRecurring,
		ForecastPeriod:         duration(24 * time.Hour),
		NodeSettle:             duration(time.Minute),
		Cooldown:               Cooldown{Base: duration(10 * time.Minute), Max: duration(6 * time.Hour)},
		OutcomeAfter:           duration(5 * time.Minute),
		Breaker: Breaker{
			MaxPendingReplacements: 3,
			PendingAfter:           duration(time.Minute),
			MaxUnreadyReplacements: 3,
			UnreadyAfter:           duration(5 * time.Minute),
			MaxRefusedPercent:      50,
			MaxErrors:              5,
			Rest:                   duration(5 * time.Minute),
			MaxNotReadyPercent:     33,
			MaxDrainingPercent:     10, MaxUnschedulablePercent: 2, StandBack: duration(30 * time.Minute),
		},
		MaxInFlightPercentOfOwner: 10,
		AcrossZones:               true,
		MoveTTL:                   duration(5 * time.Minute),
		SourceAvoidance:           duration(10 * time.Minute),
		OwnerSettle:               duration(3 * time.Minute),
		SchedulerNames:            []string{v1.DefaultSchedulerName},
		LeavingTaints:             []string{"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disruption", "karpenter.sh/disrupted"},
		ClosingTaints: []string{
			"DeletionCandidateOfClusterAutoscaler",
			"aws-node-termination-handler/*",
			"cloud.google.com/impending-node-termination",
			"node.kubernetes.io/out-of-service",
			"node.cluster.x-k8s.io/outdated-revision",
			"deployment.machine.sapcloud.io/prefer-no-schedule",
			"UpdateInProgress",
			"medik8s.io/drain",
			"weave.works/kured-node-reboot",
		},
		RecreatingControllers: []string{},
	}
}

// defaultDistances returns the levels of cpu and memory with deviation, as distances from the mean.
func defaultDistances() Levels { return levels(10, 10, 15, 10) }

func levels(low, reject, evict, leave float64) Levels {
	return Levels{Low: &low, Reject: &reject, Evict: &evict, Leave: &leave}
}

func duration(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
