package policyfile

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/policy/shape"
)

// argsMistakes compares plugins' arguments with their types, and returns a line
// for each mistake. Upstream's loader stops at the first one, and tells neither
// which plugin has it nor what is allowed.
func argsMistakes(document []byte, registry pluginregistry.Registry) string {
	var tree map[string]any
	if yaml.Unmarshal(document, &tree) != nil {
		return "" // the loader says why
	}
	var lines strings.Builder
	for i, profile := range shape.Mappings(tree["profiles"]) {
		for j, config := range shape.Mappings(profile["pluginConfig"]) {
			name, _ := config["name"].(string)
			args := registry[name].PluginArgInstance
			if args == nil {
				continue
			}
			path := field.NewPath("profiles").Index(i).Child("pluginConfig").Index(j).Child("args")
			for _, err := range shape.Check(path, config["args"], reflect.TypeOf(args)) {
				fmt.Fprintf(&lines, "DeschedulerPolicy: %v (%s)\n", err, name)
			}
		}
	}
	return lines.String()
}
