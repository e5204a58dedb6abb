// Package openshift converts a KubeDescheduler, which configures the descheduler that
// OpenShift's operator runs, to a DeschedulerPolicy. Each profile gets the plugins and
// arguments that the operator would give it. If a profile judges nodes by usage,
// RealUsageLowNodeUtilization replaces LowNodeUtilization with a query. The package
// defines only what a profile means here; the plugins are descheduler's and Evenkeel's.
//
// Invariants:
//   - A KubeDescheduler in mode Predictive, which is the default, evicts nothing.
//   - No pod may be evicted that the operator would have protected, except in
//     namespaces that only the operator knows. A note reports this exception.
//
// The rules are those of the operator's release 5.4
// (openshift/cluster-kube-descheduler-operator, target_config_reconciler.go).
package openshift

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// Format names the converted format.
const Format = "KubeDescheduler of OpenShift"

// Kind and Group are the kind and API group of the documents.
const (
	Kind  = "KubeDescheduler"
	Group = "operator.openshift.io/"
)

// Convert returns the document in the current format, or all errors in it.
func Convert(object map[string]any) (policy.Conversion, field.ErrorList) {
	c := conversion{out: policy.Conversion{Format: Format}}
	var given document
	if errs := shape.Decode(object, &given); len(errs) > 0 {
		return c.out, errs
	}
	c.in = given.Spec
	if c.check(); len(c.errs) == 0 {
		c.convert()
	}
	return c.out, c.errs
}

func (c *conversion) convert() {
	c.out.Object = map[string]any{"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}
	c.limit()
	var profiles []any
	for _, name := range c.in.Profiles {
		if plugins := makers[name]; plugins != nil {
			profiles = append(profiles, c.profile(name, plugins(c, fmt.Sprintf("profiles[%d]", len(profiles)))))
		}
	}
	if len(profiles) == 0 {
		profiles = []any{map[string]any{"name": "no-plugin"}}
		c.out.Add("profiles[0]", "these profiles only restrict which pods may be evicted; none of them evicts pods")
	}
	c.out.Object["profiles"] = profiles
	c.noteWhole()
}

// limit converts the eviction limits of a cycle.
func (c *conversion) limit() {
	total, node := c.limits()
	if c.migrates() {
		c.out.Object["nodeSelector"] = "kubevirt.io/schedulable=true"
		c.out.Add("nodeSelector", "KubeVirtRelieveAndMigrate considers only nodes that can run virtual machines")
	}
	if total != nil {
		c.out.Object["maxNoOfPodsToEvictTotal"] = policy.Number(float64(*total))
	}
	if node != nil {
		c.out.Object["maxNoOfPodsToEvictPerNode"] = policy.Number(float64(*node))
	}
}

// profile makes a profile of the given plugins. In mode Predictive, they are configured
// but not enabled.
func (c *conversion) profile(name string, plugins []plugin) map[string]any {
	configs, enabled := []any{map[string]any{"name": "DefaultEvictor", "args": c.evictorArgs(name)}}, map[string][]any{}
	for _, p := range plugins {
		configs = append(configs, map[string]any{"name": p.name, "args": p.args})
		enabled[p.point] = append(enabled[p.point], p.name)
	}
	profile := map[string]any{"name": strings.TrimPrefix(strings.TrimPrefix(name, "DevPreview"), "Dev"), "pluginConfig": configs}
	if c.in.Mode == automatic {
		points := map[string]any{}
		for point, names := range enabled {
			points[point] = map[string]any{"enabled": names}
		}
		profile["plugins"] = points
	}
	return profile
}

// evictorArgs returns the DefaultEvictor's arguments.
func (c *conversion) evictorArgs(profile string) map[string]any {
	args, protections := map[string]any{}, map[string]any{}
	local, claims := slices.Contains(c.in.Profiles, "EvictPodsWithLocalStorage"), slices.Contains(c.in.Profiles, "EvictPodsWithPVC")
	if strings.HasSuffix(profile, relieveAndMigrate) {
		local, claims = true, true
		args["noEvictionPolicy"] = "Mandatory"
	}
	if local {
		protections["defaultDisabled"] = []any{"PodsWithLocalStorage"}
	}
	if !claims {
		protections["extraEnabled"] = []any{"PodsWithPVC"}
	}
	if len(protections) > 0 {
		args["podProtections"] = protections
	}
	switch custom := &c.in.ProfileCustomizations; {
	case custom.ThresholdPriority != nil:
		args["priorityThreshold"] = map[string]any{"value": policy.Number(float64(*custom.ThresholdPriority))}
	case custom.ThresholdPriorityClassName != "":
		args["priorityThreshold"] = map[string]any{"name": custom.ThresholdPriorityClassName}
	}
	return args
}

// noteWhole adds the notes that do not concern a single profile.
func (c *conversion) noteWhole() {
	if c.in.Mode != automatic {
		c.out.Add("profiles", "mode is Predictive, or not set, so nothing is evicted: the plugins are configured but not enabled; "+
			"to evict, enable them under plugins; first run with --dry-run to see what they would do")
	}
	if len(c.in.ProfileCustomizations.Namespaces.Included) == 0 {
		c.out.Lose("profiles", "the operator left alone every namespace that begins with openshift-; name yours in each exclude, "+
			"because only the cluster knows them")
	}
	if interval := c.in.DeschedulingIntervalSeconds; interval != nil {
		c.out.Add("", fmt.Sprintf("deschedulingIntervalSeconds is the flag --descheduling-interval %ds", *interval))
	}
	if state := c.in.ManagementState; state != "" && state != "Managed" {
		c.out.Add("", "managementState is left out: no operator manages this document")
	}
	c.out.Add("", "evictions by descheduler's own plugins obey the LoadPolicy's budgets, cooldowns and breaker, too")
}
