// Package settings translates a LoadPolicy into the settings of each package. A policy
// uses its users' terms; the packages use their own and do not depend on it.
package settings

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/annotations"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/scorer/nodesync"
)

// resourceNames maps resources to their names in the policy.
var resourceNames = map[cluster.Resource]corev1.ResourceName{
	cluster.CPU:    corev1.ResourceCPU,
	cluster.Memory: corev1.ResourceMemory,
}

// Observing returns the settings of the Observer for the strategies that the
// profiles enable.
func Observing(load *policy.LoadPolicy, strategies []policy.Strategy) (observer.Config, error) {
	set, err := Lines(load, strategies)
	if err != nil {
		return observer.Config{}, err
	}
	return observer.Config{
		Usage:  Usage(load),
		Scorer: Scorer(load),
		Lines:  set,
		Hot: thresholds.HotRule{
			ConsecutiveSamples: load.Hot.ConsecutiveSamples, SampleInterval: load.Usage.SampleInterval.Duration, Startup: load.Hot.Startup.Duration,
		},
		HotWindows:        load.Hot.Windows,
		Taints:            Taints(load),
		MinCoverage:       load.Usage.MinCoveragePercent,
		SampleInterval:    load.Usage.SampleInterval.Duration,
		ObservationPeriod: load.Usage.ObservationPeriod.Duration,
		Ledger:            ledger.Config{SourceAvoidance: load.Eviction.SourceAvoidance.Duration},
	}, nil
}

// Taints returns the meaning of node taints.
func Taints(load *policy.LoadPolicy) cluster.TaintRule {
	return cluster.TaintRule{
		Leaving: load.Eviction.LeavingTaints, Closing: load.Eviction.ClosingTaints,
		Own: []string{load.NodeSync.Taint.Key, load.NodeSync.RejectTaint.Key},
	}
}

// Usage returns the settings of the usage store.
func Usage(load *policy.LoadPolicy) usage.Config {
	return usage.Config{
		Recurs:         forecast.Clock{Period: load.Eviction.Recurs()},
		SampleInterval: load.Usage.SampleInterval.Duration,
		MaxAge:         load.Usage.MaxAge.Duration,
		MinWindow:      load.Hot.MinWindow.Duration,
		Startup:        load.Hot.Startup.Duration,
		Rise:           load.RisingWindow(),
		Windows:        Windows(load),
		Signals:        Signals(load),
		Optional:       optionalResources(load),
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

// Scorer returns the scorer's settings.
func Scorer(load *policy.LoadPolicy) scorer.Config {
	config := scorer.Config{DampPercent: load.Scoring.DampPercent, Unforeseen: load.Eviction.Forecast == policy.ForecastNone}
	for r, name := range resourceNames {
		config.Weights[r] = float64(load.Scoring.Weights[name])
	}
	for _, term := range load.Scoring.HotValue {
		config.HotValue = append(config.HotValue, scorer.HotTerm{Within: term.TimeRange.Duration, Count: term.Count})
	}
	config.Measured = Measured(load.Scoring.Measured)
	return config
}

var formulas = map[policy.Formula]scorer.Formula{
	policy.FormulaCrane:      scorer.FormulaCrane,
	policy.FormulaMemoryLoad: scorer.FormulaMemoryLoad,
	policy.FormulaMinMax:     scorer.FormulaMinMax,
}

// Measured returns the settings for scoring by measured usage alone; nil if that is off.
func Measured(given *policy.MeasuredScoring) *scorer.Measured {
	if given == nil {
		return nil
	}
	measured := &scorer.Measured{Formula: formulas[given.Formula]}
	for _, term := range given.Terms {
		measured.Terms = append(measured.Terms, scorer.Term{
			Resource: resourceOf(term.Metric), Window: term.Window, Weight: term.Weight,
		})
	}
	for _, limit := range given.Limits {
		measured.Limits = append(measured.Limits, scorer.Limit{
			Resource: resourceOf(limit.Metric), Window: limit.Window, Percent: *cmp.Or(limit.AbovePercent, limit.FromPercent), From: limit.AbovePercent == nil,
		})
	}
	return measured
}

func resourceOf(metric usage.Metric) cluster.Resource {
	if metric == usage.Memory {
		return cluster.Memory
	}
	return cluster.CPU
}

// Windows returns all windows of node usage that the policy uses.
func Windows(load *policy.LoadPolicy) []usage.Window {
	var windows []usage.Window
	for _, set := range load.AllLines() {
		windows = append(windows, load.Windows(set)...)
	}
	if sync := &load.NodeSync.Annotations; sync.Enabled {
		windows = append(windows, sync.Windows...)
	}
	return append(windows, load.Scoring.Measured.Windows()...)
}

// Signals returns the metrics with lines other than cpu and memory.
func Signals(load *policy.LoadPolicy) []usage.Metric {
	var signals []usage.Metric
	for _, set := range load.AllLines() {
		for _, metric := range set.Metrics() {
			if metric != usage.CPU && metric != usage.Memory && metric != policy.MemoryAvailable && !slices.Contains(signals, metric) {
				signals = append(signals, metric)
			}
		}
	}
	return signals
}

// optionalResources returns the resources that have no lines, so that their usage may be
// unknown.
func optionalResources(load *policy.LoadPolicy) [cluster.NumResources]bool {
	optional := [cluster.NumResources]bool{true, true}
	for _, set := range load.AllLines() {
		for metric := range set {
			optional[cluster.CPU] = optional[cluster.CPU] && metric != usage.CPU
			optional[cluster.Memory] = optional[cluster.Memory] && metric != usage.Memory && metric != policy.MemoryAvailable
		}
	}
	return optional
}

// NodeSync returns the settings for publishing on nodes.
func NodeSync(given *policy.NodeSync) nodesync.Policy {
	out := nodesync.Policy{
		Annotations: nodesync.Annotations{
			Enabled: given.Annotations.Enabled, Unit: annotations.Unit(given.Annotations.Unit), Location: given.Annotations.Location(),
			Windows: given.Annotations.Windows, Periods: map[usage.Window]time.Duration{},
		},
		Label: nodesync.Mark(given.Label),
		Taint: nodesync.Mark(given.Taint), RejectTaint: nodesync.Mark(given.RejectTaint),
	}
	for _, window := range given.Annotations.Windows {
		if period, ok := given.Annotations.Periods[window]; ok {
			out.Annotations.Periods[window] = period.Duration
		}
	}
	return out
}
