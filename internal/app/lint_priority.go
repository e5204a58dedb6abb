package app

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	"sigs.k8s.io/yaml"
)

// namedClass is a priority class that a policy names.
type namedClass struct{ path, name string }

// withoutPriorityClasses returns a DeschedulerPolicy without the priority classes that it names as thresholds, and these.
// A threshold that also has a value is left for upstream's loader to refuse.
func withoutPriorityClasses(document []byte) ([]byte, []namedClass, error) {
	var tree map[string]any
	if err := yaml.Unmarshal(document, &tree); err != nil {
		return nil, nil, err
	}
	var classes []namedClass
	for i, profile := range mappings(tree["profiles"]) {
		for j, config := range mappings(profile["pluginConfig"]) {
			args, _ := config["args"].(map[string]any)
			threshold, _ := args["priorityThreshold"].(map[string]any)
			name, _ := threshold["name"].(string)
			if config["name"] != defaultevictor.PluginName || name == "" || len(threshold) > 1 {
				continue
			}
			delete(args, "priorityThreshold")
			path := fmt.Sprintf("profiles[%d].pluginConfig[%d].args.priorityThreshold.name", i, j)
			classes = append(classes, namedClass{path: path, name: name})
		}
	}
	if len(classes) == 0 {
		return document, nil, nil
	}
	changed, err := json.Marshal(tree)
	return changed, classes, err
}

func mappings(list any) []map[string]any {
	items, _ := list.([]any)
	var found []map[string]any
	for _, item := range items {
		object, _ := item.(map[string]any)
		found = append(found, object)
	}
	return found
}
