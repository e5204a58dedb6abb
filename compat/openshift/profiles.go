package openshift

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/policy"
)

const (
	// ownQuery is the prefix of a user's own query. Without it, a value names a predefined
	// query.
	ownQuery   = "query:"
	ioPressure = "PrometheusIOPSIPressure"

	deschedule = "deschedule"
	balance    = "balance"
)

// plugin is one plugin of a profile, with its arguments and its extension point.
type plugin struct {
	name, point string
	args        map[string]any
}

// makers maps profiles to functions that make their plugins; at is the profile's path.
var makers = map[string]func(c *conversion, at string) []plugin{
	"AffinityAndTaints":         affinityAndTaints,
	"TopologyAndDuplicates":     hardTopology,
	"SoftTopologyAndDuplicates": softTopology,
	"LifecycleAndUtilization":   lifecycle,
	"LongLifecycle":             longLifecycle,
	"DevPreviewLongLifecycle":   longLifecycle,
	"CompactAndScale":           compactAndScale,
	relieveAndMigrate:           relieve,
	"Dev" + relieveAndMigrate:   relieve,
}

func affinityAndTaints(c *conversion, _ string) []plugin {
	return []plugin{
		{"RemovePodsViolatingInterPodAntiAffinity", deschedule, map[string]any{"namespaces": c.namespaces()}},
		{"RemovePodsViolatingNodeTaints", deschedule, map[string]any{"namespaces": c.namespaces()}},
		{"RemovePodsViolatingNodeAffinity", deschedule, map[string]any{
			"namespaces": c.namespaces(), "nodeAffinityType": []any{"requiredDuringSchedulingIgnoredDuringExecution"},
		}},
	}
}

func hardTopology(c *conversion, _ string) []plugin { return topology(c, "DoNotSchedule") }

func softTopology(c *conversion, _ string) []plugin {
	return topology(c, "DoNotSchedule", "ScheduleAnyway")
}

func topology(c *conversion, constraints ...string) []plugin {
	return []plugin{
		{"RemovePodsViolatingTopologySpreadConstraint", balance, map[string]any{"namespaces": c.namespaces(), "constraints": texts(constraints)}},
		{"RemoveDuplicates", balance, map[string]any{"namespaces": c.namespaces()}},
	}
}

func lifecycle(c *conversion, at string) []plugin {
	seconds := 24 * 60 * 60.0
	if given := c.in.ProfileCustomizations.PodLifetime; given != nil {
		seconds = float64(int64(given.Seconds()))
	}
	lifetime := plugin{"PodLifeTime", deschedule, map[string]any{"namespaces": c.namespaces(), "maxPodLifeTimeSeconds": policy.Number(seconds)}}
	return append([]plugin{lifetime}, longLifecycle(c, at)...)
}

func longLifecycle(c *conversion, at string) []plugin {
	return []plugin{
		{"RemovePodsHavingTooManyRestarts", deschedule, map[string]any{
			"namespaces": c.namespaces(), "podRestartThreshold": policy.Number(100), "includingInitContainers": true,
		}},
		c.utilization(at),
	}
}

// utilization returns LowNodeUtilization by requests, as in descheduler, or Evenkeel's
// equivalent by node usage. These profiles never read devDeviationThresholds.
func (c *conversion) utilization(at string) plugin {
	query := c.in.ProfileCustomizations.DevActualUtilizationProfile
	thresholds := levels[c.in.ProfileCustomizations.DevLowNodeUtilizationThresholds]
	if query == "" {
		c.noteIncluded(at, "LowNodeUtilization")
		args := c.limited(c.thresholds(thresholds, "cpu", "memory", "pods"))
		args["evictableNamespaces"] = c.others()
		return plugin{"LowNodeUtilization", balance, args}
	}
	return c.realUsage(at, query, thresholds, false)
}

// relieve returns the plugins of a profile that moves pods by node usage, by default
// according to its deviation from the mean.
func relieve(c *conversion, at string) []plugin {
	given := &c.in.ProfileCustomizations
	query, thresholds, byMean := cmp.Or(given.DevActualUtilizationProfile, "PrometheusCPUMemoryCombinedProfile"), pair{0, 10}, true
	switch {
	case given.DevDeviationThresholds != "":
		thresholds = deviations[given.DevDeviationThresholds]
	case given.DevLowNodeUtilizationThresholds != "":
		thresholds, byMean = levels[given.DevLowNodeUtilizationThresholds], false
	}
	c.out.Lose(at, "virtual machines stay where they are: evicting one asks KubeVirt for a live migration, and Evenkeel does not wait for that; "+
		"pods that a controller recreates are moved")
	c.out.Lose(at, "KubevirtMigrationAware is left out; an owner rests after a move as set by eviction.cooldown in the LoadPolicy, such as "+
		c.cooldown())
	return []plugin{c.realUsage(at, query, thresholds, byMean)}
}

// cooldown returns the LoadPolicy's equivalent of the cooldown of migrations, which by
// default is a quarter of an hour and doubles up to six hours.
func (c *conversion) cooldown() string {
	base, most := "15m", "6h"
	if given := c.in.ProfileCustomizations.DevMigrationCooldown; given != nil {
		base = given.Duration.String()
	}
	if given := c.in.ProfileCustomizations.DevMaxMigrationCooldown; given != nil {
		most = given.Duration.String()
	}
	return fmt.Sprintf("{always: %s, base: %[1]s, max: %s}", base, most)
}

// realUsage returns Evenkeel's plugin with thresholds for the resources of a query.
func (c *conversion) realUsage(at, query string, thresholds pair, byMean bool) plugin {
	resources := measured[query]
	if resources == nil {
		resources = []string{"cpu", "memory"}
	}
	args := c.limited(c.thresholds(thresholds, resources...))
	if byMean {
		args["useDeviationThresholds"] = true
	}
	at += ".pluginConfig"
	c.out.Add(at, policy.DefaultStrategy+" replaces LowNodeUtilization with a query: it plans where each pod goes; "+
		"usage comes from the LoadPolicy's sources, metrics-server by default")
	switch text := "nodes were judged by " + strings.TrimPrefix(query, ownQuery) + "; here they are judged by their usage of " + strings.Join(resources, " and "); {
	case query == ioPressure || strings.Contains(query, "PSI") || strings.Contains(query, "Combined"):
		c.out.Lose(at, text+"; lines of cpu.pressure, memory.pressure and io.pressure in the LoadPolicy judge by pressure, each on its own")
	case strings.HasPrefix(query, ownQuery):
		c.out.Lose(at, text+"; to judge by the query, add it to usage.metrics in the LoadPolicy and give it lines")
	}
	if !slices.Contains(resources, "memory") {
		c.out.Add(at, "memory is judged by the LoadPolicy's lines, too")
	} else if !slices.Contains(resources, "cpu") {
		c.out.Add(at, "cpu is judged by the LoadPolicy's lines, too")
	}
	return plugin{policy.DefaultStrategy, balance, args}
}

// thresholds returns the threshold arguments that both plugins have.
func (c *conversion) thresholds(given pair, resources ...string) map[string]any {
	low, high := map[string]any{}, map[string]any{}
	for _, name := range resources {
		low[name], high[name] = policy.Number(given.low), policy.Number(given.high)
	}
	return map[string]any{"thresholds": low, "targetThresholds": high, "evictableNamespaces": c.namespaces()}
}

// limited adds the limit per node and cycle.
func (c *conversion) limited(args map[string]any) map[string]any {
	if _, node := c.limits(); node != nil {
		args["evictionLimits"] = map[string]any{"node": policy.Number(float64(*node))}
	}
	return args
}

// noteIncluded adds a note about a plugin that cannot be restricted to included
// namespaces.
func (c *conversion) noteIncluded(at, plugin string) {
	if len(c.in.ProfileCustomizations.Namespaces.Included) > 0 {
		c.out.Add(at, "namespaces.included does not apply to "+plugin+", as before: it leaves only protected namespaces alone")
	}
}

func compactAndScale(c *conversion, at string) []plugin {
	percent := policy.Number(compact[c.in.ProfileCustomizations.DevHighNodeUtilizationThresholds])
	args := map[string]any{"thresholds": map[string]any{"cpu": percent, "memory": percent, "pods": percent}, "evictableNamespaces": c.others()}
	c.noteIncluded(at, "HighNodeUtilization")
	c.out.Add(at, "HighNodeUtilization packs nodes by requests; it works against a plugin that relieves nodes by usage")
	return []plugin{{"HighNodeUtilization", balance, args}}
}
