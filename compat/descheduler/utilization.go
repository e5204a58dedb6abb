package descheduler

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// unlimited is a percentage that no node exceeds.
const unlimited = 100

func lowArgs(c *conversion, s *subject) map[string]any {
	args := c.utilizationArgs(s)
	given, raw := &s.params.NodeResourceUtilizationThresholds, within(s.raw, "nodeResourceUtilizationThresholds")
	path := s.from.Child("nodeResourceUtilizationThresholds")
	take(args, raw, "useDeviationThresholds", "targetThresholds")
	c.checkPercents(path.Child("targetThresholds"), given.TargetThresholds, within(raw, "targetThresholds"))
	if len(given.Thresholds) == 0 || len(given.TargetThresholds) == 0 {
		return args // already reported
	}
	c.checkPairs(path, given)
	if !given.UseDeviationThresholds {
		c.completePair(s, args)
	}
	return args
}

func highArgs(c *conversion, s *subject) map[string]any {
	args := c.utilizationArgs(s)
	given := &s.params.NodeResourceUtilizationThresholds
	if len(given.TargetThresholds) > 0 || given.UseDeviationThresholds {
		c.out.Add(s.to, "targetThresholds and useDeviationThresholds are left out: HighNodeUtilization never read them")
	}
	return args
}

// utilizationArgs returns the arguments that both utilization strategies share.
func (c *conversion) utilizationArgs(s *subject) map[string]any {
	given, raw := &s.params.NodeResourceUtilizationThresholds, within(s.raw, "nodeResourceUtilizationThresholds")
	path := s.from.Child("nodeResourceUtilizationThresholds")
	args := map[string]any{}
	take(args, raw, "thresholds", "numberOfNodes")
	c.checkPercents(path.Child("thresholds"), given.Thresholds, within(raw, "thresholds"))
	if given.NumberOfNodes < 0 {
		c.invalid(path.Child("numberOfNodes"), given.NumberOfNodes, "must be 0 or more")
	}
	if len(s.params.Namespaces.Include) > 0 {
		c.forbid(s.from.Child("namespaces", "include"), s.kind.name+" takes exclude only")
	}
	if excluded := within(s.raw, "namespaces"); len(excluded) > 0 {
		args["evictableNamespaces"] = excluded
		c.out.Add(s.to+".evictableNamespaces", "namespaces is written as evictableNamespaces: pods elsewhere count, but are not evicted")
	}
	c.noteUnnamed(s, given)
	return args
}

// noteUnnamed adds a note about the classic resources that limit nothing.
func (c *conversion) noteUnnamed(s *subject, given *utilization) {
	var unnamed []string
	for _, name := range []string{"cpu", "memory", "pods"} {
		_, low := given.Thresholds[name]
		_, high := given.TargetThresholds[name]
		if !low && !high {
			unnamed = append(unnamed, name)
		}
	}
	if len(unnamed) > 0 && len(given.Thresholds) > 0 {
		c.out.Add(s.to+".thresholds", fmt.Sprintf(
			"resources that are not named limit nothing; earlier versions achieved the same by filling in %d%%: %s",
			unlimited, strings.Join(unnamed, ", ")))
	}
}

func (c *conversion) checkPercents(path *field.Path, percents map[string]float64, raw map[string]any) {
	if len(percents) == 0 {
		c.require(path, "a percentage for each resource, such as {cpu: 20, memory: 20, pods: 20}")
	}
	for _, name := range slices.Sorted(maps.Keys(percents)) {
		switch percent := percents[name]; {
		case raw[name] == nil:
			c.require(path.Key(name), "a percentage, 0 to 100")
		case percent < 0 || percent > unlimited:
			c.invalid(path.Key(name), percent, "must be a percentage, 0 to 100")
		}
	}
}

// checkPairs compares the two thresholds of each resource. Thresholds that are deviations
// are distances below and above the mean, so both are needed.
func (c *conversion) checkPairs(path *field.Path, given *utilization) {
	low, high := given.Thresholds, given.TargetThresholds
	if given.UseDeviationThresholds {
		if !slices.Equal(slices.Sorted(maps.Keys(low)), slices.Sorted(maps.Keys(high))) {
			c.forbid(path.Child("targetThresholds"), "as deviations, thresholds and targetThresholds must name the same resources")
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(low)) {
		if target, both := high[name]; both && low[name] > target {
			c.invalid(path.Child("thresholds").Key(name), low[name], fmt.Sprintf("must not be above its target threshold, which is %v", target))
		}
	}
}

// completePair adds each resource that only one of the two maps names to the other map,
// with a threshold that never limits, as the first releases did.
func (c *conversion) completePair(s *subject, args map[string]any) {
	for _, pair := range [][2]string{{"thresholds", "targetThresholds"}, {"targetThresholds", "thresholds"}} {
		whole, other := maps.Clone(within(args, pair[0])), within(args, pair[1])
		for _, name := range slices.Sorted(maps.Keys(other)) {
			if whole[name] != nil {
				continue
			}
			whole[name] = json.Number(fmt.Sprint(unlimited))
			c.out.Add(s.to+"."+pair[0], fmt.Sprintf("%s is filled in with %d%%, which limits nothing: only %s named it", name, unlimited, pair[1]))
		}
		args[pair[0]] = whole
	}
}
