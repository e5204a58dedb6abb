package prometheus

import (
	"math"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

const (
	// mostPercent and mostFraction are higher than any node's usage.
	mostPercent  = 400
	mostFraction = 4
	// fractionLike is the percentage up to which values look like fractions: if no node
	// is above it, all values are fractions.
	fractionLike = 1.5
)

// resourceOf returns the resource that a metric measures, if it measures one.
func resourceOf(metric usage.Metric) (cluster.Resource, bool) {
	switch metric {
	case usage.CPU, usage.CPUStolen:
		return cluster.CPU, true
	case usage.Memory:
		return cluster.Memory, true
	default:
		return 0, false
	}
}

// convert turns a value into the metric's own unit. If it returns a cause, the
// value must be left out.
func convert(value float64, unit source.Unit, metric usage.Metric, node *cluster.Node) (float64, usage.Cause) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return 0, usage.Absurd
	}
	resource, ofResource := resourceOf(metric)
	switch {
	case unit == source.Cores:
		return value * 1000, ""
	case unit == source.Percent && ofResource && value > mostPercent:
		return 0, usage.Absurd
	case unit == source.Fraction && value > mostFraction:
		return 0, usage.Contradictory // the value is most likely a percentage
	case unit == source.Percent:
		value *= 0.01
	case unit != source.Fraction:
		return value, ""
	}
	switch {
	case !ofResource:
		return value * 100, ""
	case node.Capacity[resource] <= 0:
		return 0, usage.Unreadable
	}
	return value * float64(node.Capacity[resource]), ""
}
