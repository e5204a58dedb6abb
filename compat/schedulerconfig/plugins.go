package schedulerconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// compiledIn holds the additional plugins in the kube-scheduler that Evenkeel builds:
// those of legacy systems and Evenkeel's own.
var compiledIn = []string{"CpuRealUsage", "Dynamic", "EvenkeelLoad", "MemRealUsage"}

// builtIn holds kube-scheduler's own plugins.
var builtIn = []string{
	"*", "DefaultBinder", "DefaultPreemption", "DynamicResources", "GangScheduling", "ImageLocality", "InterPodAffinity", "NodeAffinity",
	"NodeDeclaredFeatures", "NodeName", "NodePorts", "NodeResourcesBalancedAllocation", "NodeResourcesFit", "NodeUnschedulable",
	"NodeVolumeLimits", "PodGroupPodsCount", "PodTopologySpread", "PrioritySort", "SchedulingGates", "TaintToleration",
	"TopologyPlacementGenerator", "VolumeBinding", "VolumeRestrictions", "VolumeZone",
}

// gone maps plugins that kube-scheduler had under the beta versions but no longer has to
// their replacements.
var gone = map[string]string{
	"AzureDiskLimits":             "NodeVolumeLimits, which is on by default, counts the volumes of CSI drivers",
	"CinderLimits":                "NodeVolumeLimits, which is on by default, counts the volumes of CSI drivers",
	"DefaultPodTopologySpread":    "PodTopologySpread with defaultingType System, its default, spreads pods",
	"EBSLimits":                   "NodeVolumeLimits, which is on by default, counts the volumes of CSI drivers",
	"GCEPDLimits":                 "NodeVolumeLimits, which is on by default, counts the volumes of CSI drivers",
	"NodeLabel":                   "pods' affinity and NodeAffinity's addedAffinity choose nodes by label",
	"NodePreferAvoidPods":         "a taint with effect PreferNoSchedule keeps pods off",
	"NodeResourcesLeastAllocated": "NodeResourcesFit with scoringStrategy.type LeastAllocated, its default, scores so",
	"NodeResourcesMostAllocated":  "NodeResourcesFit with scoringStrategy.type MostAllocated scores so",
	"RequestedToCapacityRatio":    "NodeResourcesFit with scoringStrategy.type RequestedToCapacityRatio scores so",
	"SelectorSpread":              "PodTopologySpread with defaultingType System, its default, spreads pods",
	"ServiceAffinity":             "affinity between pods does this",
}

// profiler converts one profile in place.
type profiler struct {
	doc    *policy.Conversion
	path   string
	legacy bool
	noted  []string
}

func (p *profiler) profile(profile map[string]any) {
	plugins, _ := profile["plugins"].(map[string]any)
	for _, point := range slices.Sorted(maps.Keys(plugins)) {
		set, _ := plugins[point].(map[string]any)
		for _, list := range []string{"disabled", "enabled"} {
			if items, ok := set[list].([]any); ok {
				set[list] = p.keep(items, "plugins."+point+"."+list)
			}
		}
	}
	if items, ok := profile["pluginConfig"].([]any); ok {
		profile["pluginConfig"] = p.keep(items, "pluginConfig")
		p.renewArgs(shape.Mappings(profile["pluginConfig"]))
	}
}

// keep returns the entries whose plugins still exist, and adds notes about the
// others.
func (p *profiler) keep(items []any, where string) []any {
	kept := make([]any, 0, len(items))
	for _, item := range items {
		entry, _ := item.(map[string]any)
		name, _ := entry["name"].(string)
		at := fmt.Sprintf("%s.%s[%d]", p.path, where, len(kept))
		instead, isGone := gone[name]
		switch {
		case isGone && p.legacy:
			p.drop(where, name, instead)
			continue
		case slices.Contains(compiledIn, name):
			p.once(name, at, fmt.Sprintf("plugin %s is compiled into the kube-scheduler of cmd/kube-scheduler, under this name and with these arguments", name))
		case !slices.Contains(builtIn, name):
			p.once(name, at, fmt.Sprintf("plugin %q is neither kube-scheduler's nor Evenkeel's: the scheduler that reads this file must include it", name))
		}
		kept = append(kept, item)
	}
	return kept
}

func (p *profiler) drop(where, name, instead string) {
	text := fmt.Sprintf("plugin %s no longer exists in kube-scheduler and was removed from %s; %s", name, where, instead)
	if strings.HasSuffix(where, ".disabled") {
		p.doc.Add(p.path, text)
		return
	}
	p.doc.Lose(p.path, text)
}

func (p *profiler) once(name, at, text string) {
	if !slices.Contains(p.noted, name) {
		p.noted = append(p.noted, name)
		p.doc.Add(at, text)
	}
}

// renewArgs updates the versions stated in arguments.
func (p *profiler) renewArgs(configs []map[string]any) {
	for i, config := range configs {
		args, _ := config["args"].(map[string]any)
		version, _ := args["apiVersion"].(string)
		if slices.Contains(versions, version) {
			args["apiVersion"] = currentVersion
			p.doc.Add(fmt.Sprintf("%s.pluginConfig[%d].args.apiVersion", p.path, i), "was "+version)
		}
	}
}
