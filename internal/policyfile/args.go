package policyfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/internal/likely"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/check"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// pluginMistakes finds plugins that do not exist, checks plugins' arguments against their
// types, and parses node selectors. Upstream's loader stops at the first mistake, and
// reports neither the plugin nor the allowed values.
func pluginMistakes(file *policy.File, tree map[string]any, registry pluginregistry.Registry) []string {
	m := mistakes{registry: registry, load: &file.Load, places: policy.PlacesOf(file.Descheduler, file.DeschedulerAt)}
	m.ofSelector(field.NewPath("nodeSelector"), tree["nodeSelector"])
	for i, profile := range shape.Mappings(tree["profiles"]) {
		path := field.NewPath("profiles").Index(i)
		m.ofEnabled(path.Child("plugins"), profile)
		for j, config := range shape.Mappings(profile["pluginConfig"]) {
			m.ofConfig(path.Child("pluginConfig").Index(j), profile, config)
		}
	}
	return m.found
}

// mistakes collects the errors in how a DeschedulerPolicy names and configures plugins.
type mistakes struct {
	registry pluginregistry.Registry
	load     *policy.LoadPolicy
	places   policy.Places
	found    []string
}

// ofEnabled finds the errors in the plugins that a profile enables at each extension
// point. The framework would report a plugin without configuration only when it builds
// the plugin.
func (m *mistakes) ofEnabled(path *field.Path, profile map[string]any) {
	points, _ := profile["plugins"].(map[string]any)
	for _, point := range slices.Sorted(maps.Keys(points)) {
		set, _ := points[point].(map[string]any)
		enabled, _ := set["enabled"].([]any)
		for i, name := range enabled {
			at := path.Child(point, "enabled").Index(i)
			name, isText := name.(string)
			switch {
			case !isText || !m.exists(at, name):
			case !configures(profile, name):
				m.add(field.NotFound(at, name), fmt.Sprintf("%v: plugin %q has no entry in the profile's pluginConfig; add one: - name: %s", at, name, name))
			case !m.runsAt(name, point):
				m.add(field.NotFound(at, name), fmt.Sprintf("%v: plugin %q cannot be enabled here, but under %s", at, name,
					strings.Join(slices.DeleteFunc([]string{"deschedule", "balance", "filter", "preEvictionFilter"}, func(other string) bool { return !m.runsAt(name, other) }), " or ")))
			}
		}
	}
}

// dryRunMistakes finds names in eviction.dryRunPlugins of plugins that no profile
// enables.
func dryRunMistakes(file *policy.File, tree map[string]any) (found []string) {
	var enabled []string
	for _, profile := range shape.Mappings(tree["profiles"]) {
		for _, point := range []string{"deschedule", "balance"} {
			enabled = append(enabled, enabledAt(profile, point)...)
		}
	}
	slices.Sort(enabled)
	enabled = slices.Compact(enabled)
	places := policy.PlacesOf(file.LoadDocument, file.LoadDocumentAt)
	for i, name := range file.Load.Eviction.DryRunPlugins {
		for _, err := range check.OneOf(field.NewPath("eviction", "dryRunPlugins").Index(i), name, enabled...) {
			found = append(found, places.Of(err)+policy.LoadPolicyKind+": "+check.Message(err)+" (the plugins that profiles enable)")
		}
	}
	return found
}

// runsAt reports whether the framework can run a plugin at an extension point.
func (m *mistakes) runsAt(name, point string) (runs bool) {
	is := m.registry[name].PluginType
	switch point {
	case "deschedule":
		_, runs = is.(frameworktypes.DeschedulePlugin)
	case "balance":
		_, runs = is.(frameworktypes.BalancePlugin)
	case "filter", "preEvictionFilter":
		_, runs = is.(frameworktypes.EvictorPlugin)
	default:
		return true // upstream's loader itself reports extension points that it does not know
	}
	return runs
}

// configures reports whether a profile contains a plugin's arguments. Upstream's loader
// adds the DefaultEvictor's.
func configures(profile map[string]any, plugin string) bool {
	return plugin == defaultevictor.PluginName || slices.ContainsFunc(shape.Mappings(profile["pluginConfig"]), func(config map[string]any) bool {
		return config["name"] == plugin
	})
}

// ofConfig finds the errors in a plugin's configuration in a profile.
func (m *mistakes) ofConfig(path *field.Path, profile, config map[string]any) {
	name, _ := config["name"].(string)
	if !m.exists(path.Child("name"), name) {
		return
	}
	plugin := m.registry[name]
	if plugin.PluginArgInstance == nil {
		return
	}
	path = path.Child("args")
	errs := shape.Check(path, config["args"], reflect.TypeOf(plugin.PluginArgInstance))
	if len(errs) == 0 && plugin.PluginArgValidator != nil {
		errs = refused(path, config["args"], plugin.PluginArgInstance, plugin.PluginArgValidator)
	}
	if _, ours := plugin.PluginArgInstance.(policy.Strategy); ours && len(errs) == 0 && balances(profile, name) {
		errs = refused(path, config["args"], plugin.PluginArgInstance, m.overlaid)
	}
	for _, err := range errs {
		m.add(err, check.Message(err)+" ("+name+")")
	}
	if args, _ := config["args"].(map[string]any); name == defaultevictor.PluginName {
		m.ofSelector(path.Child("nodeSelector"), args["nodeSelector"])
	}
}

// ofSelector reports a node selector that cannot be parsed. Upstream parses it only when
// it reads the nodes.
func (m *mistakes) ofSelector(path *field.Path, value any) {
	text, _ := value.(string)
	if _, err := labels.Parse(text); err != nil {
		err := field.Invalid(path, text, `must be a label selector, such as "pool=web,tier!=db"`)
		m.add(err, check.Message(err))
	}
}

// balances reports whether a profile enables a Balance plugin.
func balances(profile map[string]any, plugin string) bool {
	return slices.Contains(enabledAt(profile, "balance"), plugin)
}

// enabledAt returns the plugins that a profile enables at an extension point.
func enabledAt(profile map[string]any, point string) (names []string) {
	points, _ := profile["plugins"].(map[string]any)
	set, _ := points[point].(map[string]any)
	enabled, _ := set["enabled"].([]any)
	for _, name := range enabled {
		if name, isText := name.(string); isText {
			names = append(names, name)
		}
	}
	return names
}

// overlaid validates the lines that result when a strategy's arguments override those of
// the LoadPolicy.
func (m *mistakes) overlaid(args runtime.Object) error {
	strategy, ours := args.(policy.Strategy)
	if !ours {
		return nil
	}
	_, err := policy.Overlay(m.load, strategy)
	return err //nolint:wrapcheck // its parts are reported
}

// refused returns the errors that a validator finds in arguments of the right types.
// Upstream's validators never name the plugin and do not always name the field, so the
// arguments are appended to the message.
func refused(path *field.Path, given any, instance runtime.Object, validate func(runtime.Object) error) (errs field.ErrorList) {
	args := instance.DeepCopyObject()
	if wrong := shape.Fill(args, given); len(wrong) > 0 {
		return wrong
	}
	for _, err := range parts(validate(args)) {
		if inner, ok := errors.AsType[*field.Error](err); ok {
			inner.Field = path.Child(inner.Field).String()
			errs = append(errs, inner)
			continue
		}
		errs = append(errs, field.Forbidden(path, err.Error()+shown(given)))
	}
	return errs
}

// parts returns the errors that are joined in err.
func parts(err error) []error {
	switch list := err.(type) { //nolint:errorlint // what it is itself, not what it wraps
	case nil:
		return nil
	case interface{ Unwrap() []error }:
		return list.Unwrap()
	case utilerrors.Aggregate:
		return utilerrors.Flatten(list).Errors()
	default:
		return []error{err}
	}
}

// maxShown is the maximum size, in bytes, of arguments repeated in a message.
const maxShown = 300

// shown formats arguments for the end of a message; empty if there are none or
// too many.
func shown(args any) string {
	text, err := json.Marshal(args)
	if args == nil || err != nil || len(text) > maxShown {
		return ""
	}
	return ", in " + string(text)
}

// exists reports whether a plugin exists, and records an error if not.
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
