package policyfile

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/check"
	"github.com/evenkeel/evenkeel/policy/likely"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// pluginMistakes finds plugins that do not exist, and compares plugins'
// arguments with their types. Upstream's loader stops at the first mistake, and
// tells neither which plugin has it nor what is allowed.
func pluginMistakes(file *policy.File, tree map[string]any, registry pluginregistry.Registry) []string {
	m := mistakes{registry: registry, places: policy.PlacesOf(file.Descheduler, file.DeschedulerAt)}
	for i, profile := range shape.Mappings(tree["profiles"]) {
		path := field.NewPath("profiles").Index(i)
		m.ofEnabled(path.Child("plugins"), profile["plugins"])
		for j, config := range shape.Mappings(profile["pluginConfig"]) {
			m.ofConfig(path.Child("pluginConfig").Index(j), config)
		}
	}
	return m.found
}

// mistakes are those of a DeschedulerPolicy in naming and configuring plugins.
type mistakes struct {
	registry pluginregistry.Registry
	places   policy.Places
	found    []string
}

// ofEnabled finds the mistakes in what a profile enables, by extension point.
func (m *mistakes) ofEnabled(path *field.Path, plugins any) {
	points, _ := plugins.(map[string]any)
	for _, point := range slices.Sorted(maps.Keys(points)) {
		set, _ := points[point].(map[string]any)
		enabled, _ := set["enabled"].([]any)
		for i, name := range enabled {
			if name, isText := name.(string); isText {
				m.exists(path.Child(point, "enabled").Index(i), name)
			}
		}
	}
}

// ofConfig finds the mistakes in the configuration of a plugin.
func (m *mistakes) ofConfig(path *field.Path, config map[string]any) {
	name, _ := config["name"].(string)
	if !m.exists(path.Child("name"), name) {
		return
	}
	args := m.registry[name].PluginArgInstance
	if args == nil {
		return
	}
	for _, err := range shape.Check(path.Child("args"), config["args"], reflect.TypeOf(args)) {
		m.add(err, check.Message(err)+" ("+name+")")
	}
}

// exists reports whether there is a plugin, and notes one that there is not.
func (m *mistakes) exists(path *field.Path, name string) bool {
	if _, known := m.registry[name]; known {
		return true
	}
	hint := likely.Hint(name, slices.Sorted(maps.Keys(m.registry)))
	m.add(field.NotFound(path, name), fmt.Sprintf("%v: there is no plugin %q%s", path, name, hint))
	return false
}

func (m *mistakes) add(err *field.Error, text string) {
	m.found = append(m.found, m.places.Of(err)+"DeschedulerPolicy: "+text)
}
