package policy

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Default returns a complete LoadPolicy. It is the only place that holds
// default values; every call returns a copy of its own.
func Default() LoadPolicy {
	return LoadPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: GroupVersion, Kind: LoadPolicyKind},
		Usage: Usage{
			Sources:            []Source{{Type: SourceMetricsServer}},
			SampleInterval:     duration(15 * time.Second),
			MaxAge:             duration(90 * time.Second),
			MinCoveragePercent: 80,
			QueriesPerSecond:   5,
			Timeout:            duration(10 * time.Second),
			ObservationPeriod:  duration(90 * time.Second),
		},
		Lines: Lines{
			v1.ResourceCPU:    {Low: 45, Reject: 60, Evict: 65, Leave: 60},
			v1.ResourceMemory: {Low: 60, Reject: 75, Evict: 80, Leave: 75},
		},
		MinGapPercent: 3,
		Hot: Hot{
			Windows:            []Window{WindowAvg5m},
			ConsecutiveSamples: 3,
			MinWindow:          duration(75 * time.Second),
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
		Eviction: Eviction{
			Steering:                  SteeringRequired,
			CycleDeadline:             duration(10 * time.Minute),
			Interval:                  duration(200 * time.Millisecond),
			MaxMovesPerCycle:          100,
			MaxInFlightPercentOfOwner: 10,
			MoveTTL:                   duration(5 * time.Minute),
			SourceAvoidance:           duration(10 * time.Minute),
			OwnerSettle:               duration(3 * time.Minute),
			SchedulerNames:            []string{v1.DefaultSchedulerName},
		},
	}
}

func duration(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }
