package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"

	"github.com/evenkeel/evenkeel/policy"
)

// loadPlugin is Evenkeel's plugin inside kube-scheduler that reads a policy.
const loadPlugin = policy.EvenkeelLoadName

// pluggedProfiles finds the profiles that enable a plugin of Evenkeel's at any extension point.
func (p *Installation) pluggedProfiles(config *schedulerv1.KubeSchedulerConfiguration) []plugged {
	var found []plugged
	for i := range config.Profiles {
		profile := plugged{place: i, scheduler: schedulerName(&config.Profiles[i]), profile: &config.Profiles[i]}
		for _, name := range append([]string{loadPlugin}, p.LegacyPlugins...) {
			if profile.enables(name) {
				profile.plugins = append(profile.plugins, name)
			}
		}
		if len(profile.plugins) > 0 {
			found = append(found, profile)
		}
	}
	return found
}

// insideScheduler reports whether the configuration has a plugin of Evenkeel's.
func (p *Installation) insideScheduler() bool {
	if p.SchedulerConfig == nil {
		return false
	}
	config, err := readSchedulerConfig(p.SchedulerConfig.Data)
	return err == nil && len(p.pluggedProfiles(config)) > 0
}

// enables reports whether the plugin is enabled at an extension point that it implements.
func (p *plugged) enables(name string) bool {
	plugins := p.profile.Plugins
	if plugins == nil {
		return false
	}
	sets := []*schedulerv1.PluginSet{&plugins.Filter, &plugins.Score, &plugins.Reserve, &plugins.PreFilter, &plugins.PreScore}
	return slices.ContainsFunc(sets, func(set *schedulerv1.PluginSet) bool { return p.at(set, name) != nil })
}

// at returns how the plugin is enabled at an extension point, directly or by
// multiPoint; nil if it is not.
func (p *plugged) at(set *schedulerv1.PluginSet, name string) *schedulerv1.Plugin {
	named := func(plugin schedulerv1.Plugin) bool { return plugin.Name == name }
	if i := slices.IndexFunc(set.Enabled, named); i >= 0 {
		return &set.Enabled[i]
	}
	off := func(plugin schedulerv1.Plugin) bool { return plugin.Name == name || plugin.Name == "*" }
	everywhere := p.profile.Plugins.MultiPoint.Enabled
	if i := slices.IndexFunc(everywhere, named); i >= 0 && !slices.ContainsFunc(set.Disabled, off) {
		return &everywhere[i]
	}
	return nil
}

func (p *plugged) name() string { return fmt.Sprintf("profiles[%d]", p.place) }

// examinePlugins finds mistakes in the configuration of Evenkeel's plugins, and extenders that duplicate them.
func (p *Installation) examinePlugins(n *notes, config *schedulerv1.KubeSchedulerConfiguration, profiles []plugged) {
	p.doubled(n, config, profiles)
	for i := range profiles {
		profile := &profiles[i]
		if profile.plugins[0] != loadPlugin {
			continue
		}
		if len(profile.plugins) > 1 {
			n.warning(profile.name(), "It has %s: each of them scores real usage, which therefore counts several times.", strings.Join(profile.plugins, " and ")).
				fix("Leave " + loadPlugin + " alone.")
		}
		p.examineLoadPlugin(n, profile)
	}
}

// doubled finds extenders that count usage a second time after the plugin. This happens
// because all profiles of a configuration share the extenders.
func (p *Installation) doubled(n *notes, config *schedulerv1.KubeSchedulerConfiguration, profiles []plugged) {
	ours, exact := entries(config, p.Extender.URL)
	if len(ours) == 0 {
		return
	}
	level, lead := Problem, "and "+entryName(ours[0])+" asks Evenkeel about the same pods:"
	if !exact || p.Extender.URL == "" { // many extenders use these verbs
		level, lead = Warning, "and "+entryName(ours[0])+" has the verbs of Evenkeel's extender: if it is Evenkeel,"
	}
	for i := range profiles {
		n.add(level, profiles[i].name(), "The scheduler %q has the plugin %s inside, %s real usage counts twice, and each pod costs two requests.",
			profiles[i].scheduler, strings.Join(profiles[i].plugins, " and "), lead).
			fix("Remove the entry from extenders or, if a profile without the plugin needs it, remove the plugin from this profile.")
	}
}

// examineLoadPlugin finds disabled parts of the plugin, weights out of range, and a ledger
// in another namespace.
func (p *Installation) examineLoadPlugin(n *notes, profile *plugged) {
	warn := func(format string, args ...any) *Finding {
		return n.warning(profile.name(), loadPlugin+" "+format, args...)
	}
	const whole = "Enable it with multiPoint only:\nplugins:\n  multiPoint:\n    enabled: [{name: EvenkeelLoad, weight: 15}]"
	plugins := profile.profile.Plugins
	if profile.at(&plugins.Filter, loadPlugin) == nil {
		warn("does not filter: hot nodes keep getting pods, and replacements do not go where they were planned to go.").fix(whole)
	}
	switch score := profile.at(&plugins.Score, loadPlugin); {
	case score == nil:
		warn("does not score: pods are kept off hot nodes, but do not go to the coolest.").fix(whole)
	case weightOf(score) < lightest:
		warn("has a weight of %d, which is low: its scores add up to 100 times that, those of the default plugins up to 1400 points.",
			weightOf(score)).fix(fixedWeight)
	case weightOf(score) > heaviest:
		warn("has a weight of %d, which is high: real usage overrules spreading and affinity wherever nodes differ at all.",
			weightOf(score)).fix(fixedWeight)
	}
	if of := profile.ledgerNamespace(); of != "" && p.Pause.Namespace != "" && of != p.Pause.Namespace {
		warn("reads the moves in flight in the namespace %q, but the evicting process keeps them in %q: replacements are placed like any other pod.",
			of, p.Pause.Namespace).fix(fmt.Sprintf("pluginConfig: [{name: %s, args: {namespace: %s}}]", loadPlugin, p.Pause.Namespace))
	}
}

// weightOf returns a plugin's weight; 1 if unset, as in kube-scheduler.
func weightOf(plugin *schedulerv1.Plugin) int32 {
	return cmp.Or(ptr.Deref(plugin.Weight, 0), 1)
}

// ledgerNamespace returns the namespace of the plugin's ledger; empty if its arguments do
// not name one.
func (p *plugged) ledgerNamespace() string {
	var args struct {
		Namespace string `json:"namespace"`
	}
	for i := range p.profile.PluginConfig {
		if given := &p.profile.PluginConfig[i]; given.Name == loadPlugin && json.Unmarshal(given.Args.Raw, &args) == nil {
			return args.Namespace
		}
	}
	return ""
}
