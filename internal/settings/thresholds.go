package settings

import (
	"fmt"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/policy"
)

// Lines returns the definition of hot that all parts use. Thresholds of strategies
// override the LoadPolicy's lines for both evicting and scheduling; conflicting
// thresholds of two strategies are an error. Pools keep their own lines.
func Lines(load *policy.LoadPolicy, all []policy.Strategy) (*thresholds.Set, error) {
	base := load.Lines
	var first *policy.Thresholds
	for _, strategy := range all {
		is := strategy.Describe()
		switch {
		case is.Thresholds == nil:
			continue
		case first == nil:
			first = is.Thresholds
		case !first.Equal(is.Thresholds):
			return nil, fmt.Errorf("profiles give %s different thresholds; the extender uses the same lines, so there can be only one set", is.Name)
		}
		laid, err := policy.Overlay(load, strategy)
		if err != nil {
			return nil, fmt.Errorf("resolving thresholds: %w", err)
		}
		base = laid
	}
	var pools []thresholds.Pool
	for i := range load.NodePools {
		pool := &load.NodePools[i]
		selector, err := metav1.LabelSelectorAsSelector(&pool.Selector)
		if err != nil {
			return nil, fmt.Errorf("nodePools[%d].selector: %w", i, err)
		}
		pools = append(pools, thresholds.Pool{
			Name: pool.Name, Rules: rules(load, pool.Lines),
			Matches: func(nodeLabels map[string]string) bool { return selector.Matches(labels.Set(nodeLabels)) },
		})
	}
	set, err := thresholds.New(append(pools, thresholds.Pool{Rules: rules(load, base)}), load.MinGapPercent)
	if err != nil {
		return nil, err
	}
	if rising := &load.Hot.RisingMemory; rising.Window.Duration > 0 {
		set.Urgent = thresholds.Urgent{FullPercent: rising.FullPercent, Within: rising.Within.Duration}
	}
	return set, nil
}

func rules(load *policy.LoadPolicy, set policy.Lines) []thresholds.Rule {
	var rules []thresholds.Rule
	for _, metric := range set.Metrics() {
		reversed, relieves := load.Usage.LowerIsWorse(metric), relief(load.Usage.Relieves(metric))
		for _, window := range load.Windows(policy.Lines{metric: set[metric]}) {
			rules = append(rules, thresholds.Rule{
				Metric: metric, Window: window, Levels: levels(set[metric].In(window), reversed),
				Deviation: set[metric].Deviation, LowerIsWorse: reversed, Relieves: relieves,
			})
		}
	}
	return rules
}

// relief returns the resource whose usage must leave a node to lower a metric.
func relief(by usage.Metric) cluster.Resource {
	switch by {
	case usage.Memory:
		return cluster.Memory
	case policy.RelievesNone:
		return thresholds.Nothing
	default:
		return cluster.CPU
	}
}

// levels converts levels; missing ones become infinite.
func levels(given policy.Levels, reversed bool) thresholds.Levels {
	none := math.Inf(1)
	if reversed {
		none = math.Inf(-1)
	}
	level := func(value *float64) float64 {
		if value == nil {
			return none
		}
		return *value
	}
	return thresholds.Levels{Low: level(given.Low), Reject: level(given.Reject), Evict: level(given.Evict), Leave: level(given.Leave)}
}
