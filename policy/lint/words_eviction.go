package lint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
)

func (s *survey) paceWords() {
	e := &s.load.Eviction
	if s.Profiles == nil {
		s.say("Evicts nothing, because there is no DeschedulerPolicy.")
		return
	}
	var bounds []string
	if s.moves() {
		bounds = append(bounds, fmt.Sprintf("%s a cycle, which ends after %s", reasons.Count(e.MaxMovesPerCycle, "move"), span(e.CycleDeadline.Duration)))
	}
	for _, hourly := range []struct {
		most     intstr.IntOrString
		of, pods string
		least    int
	}{
		{e.MaxMovesPerHour, "", "all pods", safeguards.LeastPerHour},
		{intstr.FromInt(e.MaxMovesPerHourOfNamespace), " of one namespace", "", 0},
		{e.MaxMovesPerHourOfOwner, " of one controller", "the pods of one controller", safeguards.LeastPerHourOfOwner},
		{intstr.FromInt(e.MaxMovesPerHourOfNodePool), " of one node pool", "", 0},
	} {
		switch {
		case hourly.most.Type == intstr.String:
			bounds = append(bounds, fmt.Sprintf("evictions of %s of %s an hour, or %d if that is more", hourly.most.StrVal, hourly.pods, hourly.least))
		case hourly.most.IntVal > 0:
			bounds = append(bounds, fmt.Sprintf("%s an hour%s", reasons.Count(hourly.most.IntValue(), "eviction"), hourly.of))
		}
	}
	if e.MaxMovesPerHour != intstr.FromInt32(0) && e.MaxMovesPerHourOfNamespace == 0 {
		bounds = append(bounds, "for one namespace half of the hourly limit, or its share of all pods if that is more")
	}
	s.sayOf(bounds, "; ", "Makes at most %s.")
	if s.moves() {
		s.say("Without a PodDisruptionBudget, takes at most %s%% of an owner's pods away at once, but at least one.", number(e.MaxInFlightPercentOfOwner))
		s.sayOf(e.RecreatingControllers, ", ", "Moves pods of these controllers, too: %s.")
	}
	b := &e.Breaker
	s.say("Stops evicting while more than %s wait for a node for over %s, or more than %s are not ready after %s, or more than %s%% of the nodes are not ready.",
		reasons.Count(b.MaxPendingReplacements, "replacement"), span(b.PendingAfter.Duration), reasons.Count(b.MaxUnreadyReplacements, "replacement"),
		span(b.UnreadyAfter.Duration), number(b.MaxNotReadyPercent))
	if b.StandBack.Duration > 0 {
		s.say("Pauses for at most %s while more than %s%% of the nodes are cordoned, drained or being deleted, or %s%% more pods wait for a node than before.",
			span(b.StandBack.Duration), number(b.MaxDrainingPercent), number(b.MaxUnschedulablePercent))
	}
}

func (s *survey) timesWords() {
	if s.Profiles == nil {
		return
	}
	s.sayOf(periods(s.load.Eviction.Windows), ", ", "Evicts only at these times: %s.")
	s.sayOf(periods(s.load.Eviction.Blackouts), ", ", "Never evicts at these times: %s.")
}

func periods(list []policy.Period) []string {
	texts := make([]string, len(list))
	for i, p := range list {
		texts[i] = fmt.Sprintf("for %s from %q on (%s)", span(p.Duration.Duration), p.Schedule, cmp.Or(p.TimeZone, "UTC"))
	}
	return texts
}

// pluginsWords lists upstream's plugins and the pods that they spare.
func (s *survey) pluginsWords() {
	if s.Profiles == nil {
		return
	}
	if s.File.DefaultProfile {
		s.say("Runs the default profile, because the file has no DeschedulerPolicy (eviction.defaultProfile).")
	}
	runs := "Runs"
	if s.moves() {
		runs = "Also runs"
	}
	s.sayOf(s.load.Eviction.DryRunPlugins, ", ", "Only says what these plugins would evict (eviction.dryRunPlugins): %s.")
	several := len(s.strategies) > 1
	for i := range s.Profiles.Profiles {
		profile := &s.Profiles.Profiles[i]
		ours := policy.StrategiesOf(profile)
		for _, strategy := range ours {
			is := strategy.Describe()
			if is.Namespaces == nil {
				continue
			}
			only, none, by := "Moves only", "Does not move", "real usage"
			if several {
				only, none = fmt.Sprintf("Profile %s moves only", profile.Name), fmt.Sprintf("Profile %s does not move", profile.Name)
			}
			if !is.Relieves {
				by = is.Name
			}
			s.sayOf(is.Namespaces.Include, ", ", only+" pods in the namespaces %s by "+by+".")
			s.sayOf(is.Namespaces.Exclude, ", ", none+" pods in the namespaces %s by "+by+".")
		}
		names := slices.Concat(profile.Plugins.Deschedule.Enabled, profile.Plugins.Balance.Enabled)
		names = slices.DeleteFunc(names, func(name string) bool {
			return slices.ContainsFunc(ours, func(s policy.Strategy) bool { return s.Describe().Name == name })
		})
		if len(names) > 0 {
			s.say("%s %s (profile %s).", runs, strings.Join(names, ", "), profile.Name)
		}
		if spared := evictorArgs(profile).words(); spared != "" {
			s.say("Profile %s %s.", profile.Name, spared)
		}
	}
}

// defaultEvictor is the relevant part of DefaultEvictor's arguments. Upstream's own type is not used because it pulls
// in a client.
type defaultEvictor struct {
	NodeSelector string `json:"nodeSelector"`
	NodeFit      bool   `json:"nodeFit"`

	LabelSelector          *metav1.LabelSelector  `json:"labelSelector"`
	NamespaceLabelSelector *metav1.LabelSelector  `json:"namespaceLabelSelector"`
	PriorityThreshold      *api.PriorityThreshold `json:"priorityThreshold"`

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
	given, _ := policy.ArgsOf(profile, "DefaultEvictor")
	raw, err := json.Marshal(given)
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
	for _, p := range []struct {
		list *[]string
		set  bool
		pods string
	}{
		{&spares, d.MinReplicas > 1, fmt.Sprintf("pods of workloads with fewer than %d replicas", d.MinReplicas)},
		{&spares, d.MinPodAge != "", "pods younger than " + d.MinPodAge},
		{&spares, d.NodeFit && d.NodeSelector == "", "pods that fit on no other node"},
		{&spares, d.NodeFit && d.NodeSelector != "", fmt.Sprintf("pods that fit on no other node with %q", d.NodeSelector)},
		{&spares, selects(d.LabelSelector), fmt.Sprintf("pods that the labelSelector %q does not match", metav1.FormatLabelSelector(d.LabelSelector))},
		{
			&spares, selects(d.NamespaceLabelSelector),
			fmt.Sprintf("pods of namespaces that the namespaceLabelSelector %q does not match", metav1.FormatLabelSelector(d.NamespaceLabelSelector)),
		},
		{&spares, d.priority() < critical, fmt.Sprintf("pods of priority %d or more", d.priority())},
		{&spares, len(d.PodProtections.ExtraEnabled) > 0, "pods of the kind " + strings.Join(d.PodProtections.ExtraEnabled, ", pods of the kind ")},
		{&spares, d.IgnorePvcPods, "pods with a volume claim"},
		{&spares, d.IgnorePodsWithoutPDB, "pods without a PodDisruptionBudget"},
		{&evicts, d.EvictLocalStoragePods, "pods with local storage"},
		{&evicts, d.EvictDaemonSetPods, "pods of DaemonSets"},
		{&evicts, d.EvictSystemCriticalPods, "system critical pods"},
		{&evicts, d.EvictFailedBarePods, "failed pods without an owner"},
	} {
		if p.set {
			*p.list = append(*p.list, p.pods)
		}
	}
	for _, p := range d.PodProtections.DefaultDisabled {
		evicts = append(evicts, "pods that "+p+" would protect")
	}
	var clauses []string
	if len(spares) > 0 {
		clauses = append(clauses, "spares "+strings.Join(spares, ", "))
	}
	if len(evicts) > 0 {
		clauses = append(clauses, "does not spare "+strings.Join(evicts, ", "))
	}
	return strings.Join(clauses, "; it ")
}

// critical is the lowest priority of system-critical pods. Upstream's loader uses it as the threshold of policies that
// set none.
const critical = 2_000_000_000

// priority returns the lowest priority whose pods are spared. If system-critical pods are
// not protected, thresholds have no effect.
func (d defaultEvictor) priority() int32 {
	threshold := d.PriorityThreshold
	if threshold == nil || threshold.Value == nil || d.EvictSystemCriticalPods || slices.Contains(d.PodProtections.DefaultDisabled, "SystemCriticalPods") {
		return critical
	}
	return *threshold.Value
}

func selects(selector *metav1.LabelSelector) bool {
	return selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) > 0
}

// limitsWords describes the limits at the top of the DeschedulerPolicy.
func (s *survey) limitsWords() {
	p := s.Profiles
	if p == nil {
		return
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
	s.sayOf(limits, ", ", "Evicts at most %s in one cycle.")
	if p.NodeSelector != nil && *p.NodeSelector != "" {
		s.say("Looks only at nodes with %q.", *p.NodeSelector)
	}
}
