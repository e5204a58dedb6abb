package app

import (
	"errors"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
	"github.com/evenkeel/evenkeel/usage"
)

// resourceNames maps the policy's names of resources to the ones that are computed with.
var resourceNames = map[cluster.Resource]corev1.ResourceName{
	cluster.CPU:    corev1.ResourceCPU,
	cluster.Memory: corev1.ResourceMemory,
}

func usageConfig(load *policy.LoadPolicy) usage.Config {
	return usage.Config{
		SampleInterval: load.Usage.SampleInterval.Duration,
		MaxAge:         load.Usage.MaxAge.Duration,
		MinWindow:      load.Hot.MinWindow.Duration,
		Estimate: usage.Estimate{
			PercentOfRequest: cluster.Percents{
				cluster.CPU:    load.Scoring.Estimate.CPUPercentOfRequest,
				cluster.Memory: load.Scoring.Estimate.MemoryPercentOfRequest,
			},
			Default: cluster.Amounts{
				cluster.CPU:    load.Scoring.Estimate.DefaultCPU.MilliValue(),
				cluster.Memory: load.Scoring.Estimate.DefaultMemory.Value(),
			},
		},
	}
}

func scorerConfig(load *policy.LoadPolicy) scorer.Config {
	config := scorer.Config{DampPercent: load.Scoring.DampPercent}
	for r, name := range resourceNames {
		config.Weights[r] = float64(load.Scoring.Weights[name])
	}
	return config
}

func windows(load *policy.LoadPolicy) ([]usage.Window, error) {
	var named []usage.Window
	for _, name := range load.Hot.Windows {
		found := false
		for _, w := range usage.Windows() {
			if w.String() == string(name) {
				named, found = append(named, w), true
			}
		}
		if !found {
			return nil, fmt.Errorf("hot.windows: %q is not a window", name)
		}
	}
	return named, nil
}

// planLines converts lines; a resource without lines is never judged, so its lines are out of reach.
func planLines(lines policy.Lines) plan.Lines {
	var out plan.Lines
	for r, name := range resourceNames {
		resource, ok := lines[name]
		if !ok {
			resource = policy.ResourceLines{Low: math.Inf(1), Reject: math.Inf(1), Evict: math.Inf(1), Leave: math.Inf(1)}
		}
		out.Low[r], out.Reject[r], out.Evict[r], out.Leave[r] = resource.Low, resource.Reject, resource.Evict, resource.Leave
	}
	return out
}

// linesFor returns how lines are resolved for a view. Arguments of the plugin lie over the LoadPolicy for both sides, so
// that there is one definition of hot; two profiles that ask for different ones are a mistake.
func linesFor(load *policy.LoadPolicy, all []*policy.RealUsageLowNodeUtilizationArgs) (func(*usage.View) plan.Lines, error) {
	fixed := planLines(load.Lines)
	if len(all) == 0 {
		return func(*usage.View) plan.Lines { return fixed }, nil
	}
	args := all[0]
	for _, other := range all[1:] {
		if !sameLines(args, other) {
			return nil, errors.New("profiles give RealUsageLowNodeUtilization different thresholds; the extender goes by the same lines, so there can be only one set")
		}
	}
	if !args.UseDeviationThresholds {
		lines, err := args.Lines(load, nil)
		if err != nil {
			return nil, fmt.Errorf("resolving thresholds: %w", err)
		}
		fixed = planLines(lines)
		return func(*usage.View) plan.Lines { return fixed }, nil
	}
	if _, err := args.Lines(load, meanPercents(nil)); err != nil {
		return nil, fmt.Errorf("resolving thresholds: %w", err)
	}
	return func(view *usage.View) plan.Lines {
		lines, err := args.Lines(load, meanPercents(view))
		if err != nil {
			return fixed
		}
		return planLines(lines)
	}, nil
}

func sameLines(a, b *policy.RealUsageLowNodeUtilizationArgs) bool {
	if a.UseDeviationThresholds != b.UseDeviationThresholds || len(a.Thresholds) != len(b.Thresholds) ||
		len(a.TargetThresholds) != len(b.TargetThresholds) {
		return false
	}
	for name, value := range a.Thresholds {
		if other, ok := b.Thresholds[name]; !ok || other != value {
			return false
		}
	}
	for name, value := range a.TargetThresholds {
		if other, ok := b.TargetThresholds[name]; !ok || other != value {
			return false
		}
	}
	return true
}

// meanPercents is the mean usage of the known nodes, weighted by their size; 50 % where nothing is known.
func meanPercents(view *usage.View) map[corev1.ResourceName]float64 {
	var used, allocatable cluster.Amounts
	if view != nil {
		for i := range view.Nodes {
			if view.Nodes[i].Known() {
				used = used.Plus(view.Nodes[i].Current[usage.Avg5m])
				allocatable = allocatable.Plus(view.Snapshot.Nodes[i].Node.Allocatable)
			}
		}
	}
	means := map[corev1.ResourceName]float64{}
	for r, name := range resourceNames {
		means[name] = 50
		if allocatable[r] > 0 {
			means[name] = used.PercentOf(allocatable)[r]
		}
	}
	return means
}
