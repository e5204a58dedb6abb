package prometheus

import (
	"fmt"
	"math"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
)

// Unit is what an expression's values are in.
type Unit string

// The units. Percent and Fraction of cpu and memory are of the node's capacity; of other metrics a Fraction becomes a
// percentage.
const (
	Cores    Unit = "cores"
	Milli    Unit = "milli"
	Bytes    Unit = "bytes"
	Percent  Unit = "percent"
	Fraction Unit = "fraction"
	// None leaves values as they are.
	None Unit = "none"
)

// defaultUnit is what values are taken to be in where nothing is said.
func defaultUnit(metric usage.Metric) Unit {
	switch metric {
	case usage.CPU:
		return Cores
	case usage.Memory:
		return Bytes
	default:
		return None
	}
}

// unitsOf returns the units that a metric of a node, or of a pod, may be in.
func unitsOf(metric usage.Metric, pod bool) []Unit {
	units := map[usage.Metric][]Unit{usage.CPU: {Cores, Milli}, usage.Memory: {Bytes}}[metric]
	switch {
	case pod:
		return units
	case units == nil:
		return []Unit{None, Percent, Fraction}
	}
	return append(units, Percent, Fraction)
}

func checkUnit(unit Unit, metric usage.Metric, pod bool) error {
	if allowed := unitsOf(metric, pod); !slices.Contains(allowed, unit) {
		return fmt.Errorf("unit %q is not one of %s; allowed: %q", unit, metric, allowed)
	}
	return nil
}

const (
	// mostPercent and mostFraction are beyond what any node can use.
	mostPercent  = 400
	mostFraction = 4
	// fractionLike is a percentage that, seen on all nodes, gives away a fraction.
	fractionLike = 1.5
)

// resourceOf returns the resource that a metric is about, if it is about one.
func resourceOf(metric usage.Metric) (cluster.Resource, bool) {
	switch metric {
	case usage.CPU:
		return cluster.CPU, true
	case usage.Memory:
		return cluster.Memory, true
	default:
		return 0, false
	}
}

// convert turns a value into the metric's own unit. With a cause, it is to be left out.
func convert(value float64, unit Unit, metric usage.Metric, node *cluster.Node) (float64, usage.Cause) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return 0, usage.Absurd
	}
	resource, ofResource := resourceOf(metric)
	scale := 1.0
	switch unit {
	case Cores:
		scale = 1000
	case Percent:
		if value > mostPercent && ofResource {
			return 0, usage.Absurd
		}
		scale = 0.01
	case Fraction:
		if value > mostFraction {
			return 0, usage.Contradictory // a percentage, most likely
		}
	case Milli, Bytes, None:
	}
	switch {
	case unit != Percent && unit != Fraction:
		return value * scale, ""
	case !ofResource:
		return value * scale * 100, ""
	case node.Capacity[resource] <= 0:
		return 0, usage.Unreadable
	}
	return value * scale * float64(node.Capacity[resource]), ""
}
