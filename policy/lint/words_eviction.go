package lint

import (
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
)

func paceWords(s *Subject) []string {
	e := &s.load.Eviction
	if s.Profiles == nil {
		return []string{"Evicts nothing: there is no DeschedulerPolicy."}
	}
	var bounds []string
	if s.args != nil {
		bounds = append(bounds, fmt.Sprintf("%s a cycle, which ends after %s", reasons.Count(e.MaxMovesPerCycle, "move"), span(e.CycleDeadline.Duration)))
	}
	for _, hourly := range []struct {
		most int
		of   string
	}{
		{e.MaxMovesPerHour, ""},
		{e.MaxMovesPerHourOfNamespace, " of one namespace"},
		{e.MaxMovesPerHourOfOwner, " of one controller"},
		{e.MaxMovesPerHourOfNodePool, " of one node pool"},
	} {
		if hourly.most > 0 {
			bounds = append(bounds, fmt.Sprintf("%s an hour%s", reasons.Count(hourly.most, "eviction"), hourly.of))
		}
	}
	said := []string{}
	if len(bounds) > 0 {
		said = append(said, fmt.Sprintf("Makes at most %s.", strings.Join(bounds, "; ")))
	}
	b := &e.Breaker
	return append(said, fmt.Sprintf("Stops by itself while more than %s wait for a node for over %s, or more than %s are not ready after %s, or more than %s %% of the nodes are not ready.",
		reasons.Count(b.MaxPendingReplacements, "replacement"), span(b.PendingAfter.Duration), reasons.Count(b.MaxUnreadyReplacements, "replacement"),
		span(b.UnreadyAfter.Duration), number(b.MaxNotReadyPercent)))
}

func timesWords(s *Subject) []string {
	if s.Profiles == nil {
		return nil
	}
	var said []string
	if windows := s.load.Eviction.Windows; len(windows) > 0 {
		said = append(said, fmt.Sprintf("Evicts only at these times: %s.", periods(windows)))
	}
	if blackouts := s.load.Eviction.Blackouts; len(blackouts) > 0 {
		said = append(said, fmt.Sprintf("Never evicts at these times: %s.", periods(blackouts)))
	}
	return said
}

func periods(list []policy.Period) string {
	texts := make([]string, len(list))
	for i, p := range list {
		zone := p.TimeZone
		if zone == "" {
			zone = "UTC"
		}
		texts[i] = fmt.Sprintf("for %s from %q on (%s)", span(p.Duration.Duration), p.Schedule, zone)
	}
	return strings.Join(texts, ", ")
}

// pluginsWords names upstream's plugins and whom they spare.
func pluginsWords(s *Subject) []string {
	if s.Profiles == nil {
		return nil
	}
	var said []string
	for i := range s.Profiles.Profiles {
		profile := &s.Profiles.Profiles[i]
		var names []string
		for _, set := range []api.PluginSet{profile.Plugins.Deschedule, profile.Plugins.Balance} {
			for _, name := range set.Enabled {
				if name != policy.RealUsageLowNodeUtilizationName {
					names = append(names, name)
				}
			}
		}
		if len(names) > 0 {
			also := "Runs"
			if s.args != nil {
				also = "Also runs"
			}
			said = append(said, fmt.Sprintf("%s %s (profile %s).", also, strings.Join(names, ", "), profile.Name))
		}
		if spared := evictorArgs(profile).words(); spared != "" {
			said = append(said, fmt.Sprintf("Profile %s %s.", profile.Name, spared))
		}
	}
	return said
}

// defaultEvictor is what counts of DefaultEvictor's arguments, whose type drags
// a client along.
type defaultEvictor struct {
	NodeSelector            string `json:"nodeSelector"`
	MinReplicas             uint   `json:"minReplicas"`
	MinPodAge               string `json:"minPodAge"`
	EvictLocalStoragePods   bool   `json:"evictLocalStoragePods"`
	EvictDaemonSetPods      bool   `json:"evictDaemonSetPods"`
	EvictSystemCriticalPods bool   `json:"evictSystemCriticalPods"`
	EvictFailedBarePods     bool   `json:"evictFailedBarePods"`
	IgnorePvcPods           bool   `json:"ignorePvcPods"`
	IgnorePodsWithoutPDB    bool   `json:"ignorePodsWithoutPDB"`
	PodProtections          struct {
		ExtraEnabled    []string `json:"extraEnabled"`
		DefaultDisabled []string `json:"defaultDisabled"`
	} `json:"podProtections"`
}

func evictorArgs(profile *api.DeschedulerProfile) defaultEvictor {
	var args defaultEvictor
	raw, err := json.Marshal(configOf(profile, "DefaultEvictor"))
	if err == nil {
		err = json.Unmarshal(raw, &args)
	}
	if err != nil {
		return defaultEvictor{}
	}
	return args
}

func (d defaultEvictor) words() string {
	var spares, evicts []string
	if d.MinReplicas > 1 {
		spares = append(spares, fmt.Sprintf("pods of workloads with fewer than %d replicas", d.MinReplicas))
	}
	if d.MinPodAge != "" {
		spares = append(spares, "pods younger than "+d.MinPodAge)
	}
	if d.NodeSelector != "" {
		spares = append(spares, fmt.Sprintf("pods on nodes other than %q", d.NodeSelector))
	}
	for _, p := range d.PodProtections.ExtraEnabled {
		spares = append(spares, "pods of the kind "+p)
	}
	for _, p := range []struct {
		set  bool
		pods string
	}{{d.IgnorePvcPods, "pods with a volume claim"}, {d.IgnorePodsWithoutPDB, "pods without a PodDisruptionBudget"}} {
		if p.set {
			spares = append(spares, p.pods)
		}
	}
	for _, p := range []struct {
		set  bool
		pods string
	}{
		{d.EvictLocalStoragePods, "pods with local storage"}, {d.EvictDaemonSetPods, "pods of DaemonSets"},
		{d.EvictSystemCriticalPods, "system critical pods"}, {d.EvictFailedBarePods, "failed pods without an owner"},
	} {
		if p.set {
			evicts = append(evicts, p.pods)
		}
	}
	for _, p := range d.PodProtections.DefaultDisabled {
		evicts = append(evicts, "pods that "+p+" would protect")
	}
	var said []string
	if len(spares) > 0 {
		said = append(said, "spares "+strings.Join(spares, ", "))
	}
	if len(evicts) > 0 {
		said = append(said, "does not spare "+strings.Join(evicts, ", "))
	}
	return strings.Join(said, "; it ")
}

// limitsWords are the limits that stand at the top of the DeschedulerPolicy.
func limitsWords(s *Subject) []string {
	p := s.Profiles
	if p == nil {
		return nil
	}
	var limits []string
	for _, limit := range []struct {
		most *uint
		of   string
	}{{p.MaxNoOfPodsToEvictTotal, "in all"}, {p.MaxNoOfPodsToEvictPerNode, "from one node"}, {p.MaxNoOfPodsToEvictPerNamespace, "of one namespace"}} {
		if limit.most != nil {
			limits = append(limits, fmt.Sprintf("%s %s", reasons.Count(int(min(*limit.most, 1<<31)), "pod"), limit.of))
		}
	}
	var said []string
	if len(limits) > 0 {
		said = append(said, fmt.Sprintf("Evicts at most %s in one cycle.", strings.Join(limits, ", ")))
	}
	if p.NodeSelector != nil && *p.NodeSelector != "" {
		said = append(said, fmt.Sprintf("Looks only at nodes with %q.", *p.NodeSelector))
	}
	return said
}
