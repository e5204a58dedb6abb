package schedulerconfig

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/evenkeel/evenkeel/compat/presets"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// builtInArgs maps kube-scheduler's built-in plugins to the types of their args. Values
// are not checked, because only kube-scheduler's own code defines which are valid.
var builtInArgs = map[string]reflect.Type{
	"DefaultPreemption":               reflect.TypeFor[schedulerv1.DefaultPreemptionArgs](),
	"DynamicResources":                reflect.TypeFor[schedulerv1.DynamicResourcesArgs](),
	"InterPodAffinity":                reflect.TypeFor[schedulerv1.InterPodAffinityArgs](),
	"NodeAffinity":                    reflect.TypeFor[schedulerv1.NodeAffinityArgs](),
	"NodeResourcesBalancedAllocation": reflect.TypeFor[schedulerv1.NodeResourcesBalancedAllocationArgs](),
	"NodeResourcesFit":                reflect.TypeFor[schedulerv1.NodeResourcesFitArgs](),
	"PodTopologySpread":               reflect.TypeFor[schedulerv1.PodTopologySpreadArgs](),
	"VolumeBinding":                   reflect.TypeFor[schedulerv1.VolumeBindingArgs](),
}

// checkPlugins returns the errors because of which kube-scheduler would not start with a
// profile: args that their plugin rejects, and args given twice.
func checkPlugins(path *field.Path, profile map[string]any) (errs field.ErrorList) {
	configs := path.Child("pluginConfig")
	var configured []string
	for i, config := range shape.Mappings(profile["pluginConfig"]) {
		name, _ := config["name"].(string)
		if slices.Contains(configured, name) {
			errs = append(errs, field.Duplicate(configs.Index(i).Child("name"), name))
		}
		configured = append(configured, name)
		errs = append(errs, checkArgs(configs.Index(i).Child("args"), name, config["args"])...)
	}
	for _, name := range enabledIn(profile) {
		if !slices.Contains(configured, name) {
			errs = append(errs, checkArgs(configs.Key(name).Child("args"), name, nil)...)
		}
	}
	return errs
}

// enabledIn returns the plugins that a profile enables at any extension point.
func enabledIn(profile map[string]any) (names []string) {
	plugins, _ := profile["plugins"].(map[string]any)
	for _, point := range slices.Sorted(maps.Keys(plugins)) {
		set, _ := plugins[point].(map[string]any)
		for _, entry := range shape.Mappings(set["enabled"]) {
			if name, _ := entry["name"].(string); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// checkArgs checks the args of a known plugin. Nil means no args.
func checkArgs(path *field.Path, name string, args any) (errs field.ErrorList) {
	given, isMapping := args.(map[string]any)
	ours := name == policy.EvenkeelLoadName || slices.Contains(presets.PluginNames(), name)
	builtIn, isBuiltIn := builtInArgs[name]
	switch {
	case !ours && !isBuiltIn:
		return nil
	case args != nil && !isMapping:
		return shape.Check(path, args, reflect.TypeFor[struct{}]())
	case isBuiltIn:
		if kind, there := given["kind"]; there && kind != name+"Args" {
			errs = append(errs, field.NotSupported(path.Child("kind"), fmt.Sprint(kind), []string{name + "Args"}))
		}
		return append(errs, shape.Check(path, args, builtIn)...)
	}
	given = maps.Clone(given)
	delete(given, "apiVersion") // kube-scheduler ignores both fields
	delete(given, "kind")
	if name == policy.EvenkeelLoadName {
		return shape.Check(path, given, reflect.TypeFor[policy.EvenkeelLoadArgs]())
	}
	_, errs = presets.ReadPlugin(name, given)
	for _, err := range errs {
		err.Field = path.String() + "." + err.Field
	}
	return errs
}
