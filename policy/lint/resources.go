package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/internal/likely"
	"github.com/evenkeel/evenkeel/policy"
)

// native lists the node resources whose names have no domain, except those whose names
// end in a size or in a kind of volume.
var native = []string{
	string(v1.ResourceCPU), string(v1.ResourceMemory), string(v1.ResourcePods), string(v1.ResourceEphemeralStorage),
}

// resources finds thresholds of upstream's plugins for resources that no node has.
// Upstream accepts any name because nodes may have extended resources, but the names of
// extended resources have a domain.
func (s *survey) resources() {
	if s.Profiles == nil {
		return
	}
	for i := range s.Profiles.Profiles {
		for j, config := range s.Profiles.Profiles[i].PluginConfigs {
			var args struct {
				Thresholds       map[string]float64 `json:"thresholds"`
				TargetThresholds map[string]float64 `json:"targetThresholds"`
			}
			if _, ours := config.Args.(policy.Strategy); ours { // our strategies check names themselves
				continue
			}
			raw, err := json.Marshal(config.Args)
			if err != nil || json.Unmarshal(raw, &args) != nil {
				continue
			}
			field := fmt.Sprintf("profiles[%d].pluginConfig[%d].args", i, j)
			s.unknownResources(field+".thresholds", args.Thresholds)
			s.unknownResources(field+".targetThresholds", args.TargetThresholds)
		}
	}
}

func (s *survey) unknownResources(field string, thresholds map[string]float64) {
	for _, name := range slices.Sorted(maps.Keys(thresholds)) {
		if hasNode(name) {
			continue
		}
		s.warn(fmt.Sprintf("%s[%s]", field, name), "nodes have no resource %q%s (allowed: %s, and names with a domain, such as nvidia.com/gpu)",
			name, likely.Hint(name, native), strings.Join(native, ", "))
	}
}

// hasNode reports whether a node may have a resource with this name. MetricResource is LowNodeUtilization's own name
// for the value that Prometheus returns.
func hasNode(name string) bool {
	return strings.Contains(name, "/") || slices.Contains(native, name) || name == "MetricResource" ||
		strings.HasPrefix(name, v1.ResourceHugePagesPrefix) || strings.HasPrefix(name, v1.ResourceAttachableVolumesPrefix)
}
