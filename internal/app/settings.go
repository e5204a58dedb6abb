package app

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer"
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
		Windows:        wantedWindows(load),
		Signals:        wantedSignals(load),
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

func scorerConfig(load *policy.LoadPolicy) scorer.Config {
	config := scorer.Config{DampPercent: load.Scoring.DampPercent}
	for r, name := range resourceNames {
		config.Weights[r] = float64(load.Scoring.Weights[name])
	}
	for _, term := range load.Scoring.HotValue {
		config.HotValue = append(config.HotValue, scorer.HotTerm{Within: term.TimeRange.Duration, Count: term.Count})
	}
	config.Measured = measuredScoring(load.Scoring.Measured)
	return config
}

var formulas = map[policy.Formula]scorer.Formula{
	policy.FormulaCrane:      scorer.FormulaCrane,
	policy.FormulaMemoryLoad: scorer.FormulaMemoryLoad,
	policy.FormulaMinMax:     scorer.FormulaMinMax,
}

func measuredScoring(given *policy.MeasuredScoring) *scorer.Measured {
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
		at := limit.AbovePercent
		if at == nil {
			at = limit.FromPercent
		}
		measured.Limits = append(measured.Limits, scorer.Limit{
			Resource: resourceOf(limit.Metric), Window: limit.Window, Percent: *at, From: limit.AbovePercent == nil,
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

// judgedWindows are those that a policy's lines judge a metric by: those that make a node hot, and its own.
func judgedWindows(load *policy.LoadPolicy, metric policy.MetricLines) []usage.Window {
	windows := slices.Clone(load.Hot.Windows)
	for _, own := range slices.SortedFunc(maps.Keys(metric.Windows), byName) {
		if !slices.Contains(windows, own) {
			windows = append(windows, own)
		}
	}
	return windows
}

func byName(a, b usage.Window) int { return strings.Compare(a.String(), b.String()) }

// allLines are the lines of the policy and of its pools.
func allLines(load *policy.LoadPolicy) []policy.Lines {
	all := []policy.Lines{load.Lines}
	for i := range load.NodePools {
		all = append(all, load.NodePools[i].Lines)
	}
	return all
}

// wantedWindows are all windows that somebody reads of nodes.
func wantedWindows(load *policy.LoadPolicy) []usage.Window {
	windows := slices.Clone(load.Hot.Windows)
	for _, set := range allLines(load) {
		for _, metric := range set.Metrics() {
			windows = append(windows, judgedWindows(load, set[metric])...)
		}
	}
	if sync := &load.NodeSync.Annotations; sync.Enabled {
		windows = append(windows, sync.Windows...)
	}
	if measured := load.Scoring.Measured; measured != nil {
		for _, term := range measured.Terms {
			windows = append(windows, term.Window)
		}
		for _, limit := range measured.Limits {
			windows = append(windows, limit.Window)
		}
	}
	return windows
}

// wantedSignals are the judged metrics that are neither cpu nor memory.
func wantedSignals(load *policy.LoadPolicy) []usage.Metric {
	var signals []usage.Metric
	for _, set := range allLines(load) {
		for _, metric := range set.Metrics() {
			if metric != usage.CPU && metric != usage.Memory && metric != policy.MemoryAvailable && !slices.Contains(signals, metric) {
				signals = append(signals, metric)
			}
		}
	}
	return signals
}

// optionalResources are those that no line judges; they need not be known.
func optionalResources(load *policy.LoadPolicy) [cluster.NumResources]bool {
	optional := [cluster.NumResources]bool{true, true}
	for _, set := range allLines(load) {
		for metric := range set {
			optional[cluster.CPU] = optional[cluster.CPU] && metric != usage.CPU
			optional[cluster.Memory] = optional[cluster.Memory] && metric != usage.Memory && metric != policy.MemoryAvailable
		}
	}
	return optional
}
