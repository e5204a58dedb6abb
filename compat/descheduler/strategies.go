package descheduler

import "github.com/evenkeel/evenkeel/policy/check"

// kinds returns all strategies, in the order of their profiles.
func kinds() []kind {
	return []kind{
		{name: "RemoveDuplicates", point: balance, classic: true, params: []string{"removeDuplicates"}, args: duplicatesArgs},
		{name: "LowNodeUtilization", point: balance, classic: true, params: []string{"nodeResourceUtilizationThresholds"}, args: lowArgs},
		{name: "RemovePodsViolatingInterPodAntiAffinity", point: deschedule, classic: true, params: []string{"labelSelector"}, args: selectorArgs},
		{
			name: "RemovePodsViolatingNodeAffinity", point: deschedule, classic: true,
			params: []string{"labelSelector", "nodeAffinityType"}, args: affinityArgs,
		},
		{
			name: "RemovePodsViolatingNodeTaints", point: deschedule, classic: true,
			params: []string{"labelSelector", "includePreferNoSchedule", "excludedTaints", "includedTaints"}, args: taintArgs,
		},
		{
			name: "RemovePodsViolatingTopologySpreadConstraint", point: balance,
			params: []string{"labelSelector", "includeSoftConstraints"}, args: spreadArgs,
		},
		{
			name: "RemovePodsHavingTooManyRestarts", point: deschedule,
			params: []string{"labelSelector", "podsHavingTooManyRestarts"}, args: restartArgs,
		},
		{name: "PodLifeTime", point: deschedule, neverFits: true, params: []string{"labelSelector", "podLifeTime", "maxPodLifeTimeSeconds"}, args: lifeTimeArgs},
		{name: "RemoveFailedPods", point: deschedule, params: []string{"labelSelector", "failedPods"}, args: failedArgs},
		{name: "HighNodeUtilization", point: balance, params: []string{"nodeResourceUtilizationThresholds"}, args: highArgs},
	}
}

func duplicatesArgs(c *conversion, s *subject) map[string]any {
	args := map[string]any{}
	take(args, s.raw, "namespaces")
	take(args, within(s.raw, "removeDuplicates"), "excludeOwnerKinds")
	c.out.Add(s.to, "a node keeps as many pods of one owner as an even spread over the eligible nodes gives it; the first versions kept one")
	return args
}

// selectorArgs returns the arguments that most strategies have.
func selectorArgs(_ *conversion, s *subject) map[string]any {
	args := map[string]any{}
	take(args, s.raw, "namespaces", "labelSelector")
	return args
}

func affinityArgs(c *conversion, s *subject) map[string]any {
	path := s.from.Child("nodeAffinityType")
	types := []string{"requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"}
	if len(s.params.NodeAffinityType) == 0 {
		c.require(path, "a list of "+types[0]+" and "+types[1])
	}
	for i, given := range s.params.NodeAffinityType {
		c.errs = append(c.errs, check.OneOf(path.Index(i), given, types...)...)
	}
	args := selectorArgs(c, s)
	take(args, s.raw, "nodeAffinityType")
	return args
}

func taintArgs(c *conversion, s *subject) map[string]any {
	if len(s.params.ExcludedTaints) > 0 && len(s.params.IncludedTaints) > 0 {
		c.forbid(s.from.Child("includedTaints"), "not together with excludedTaints")
	}
	args := selectorArgs(c, s)
	take(args, s.raw, "includePreferNoSchedule", "excludedTaints", "includedTaints")
	return args
}

func spreadArgs(c *conversion, s *subject) map[string]any {
	args := selectorArgs(c, s)
	args["constraints"] = constraintKinds(s.params.IncludeSoftConstraints)
	args["topologyBalanceNodeFit"] = true
	if s.params.IncludeSoftConstraints {
		c.out.Add(s.to+".constraints", "includeSoftConstraints is written as a second kind of constraint")
	}
	return args
}

// constraintKinds returns the kinds of spread constraints that
// includeSoftConstraints selected.
func constraintKinds(soft bool) []any {
	if soft {
		return []any{"DoNotSchedule", "ScheduleAnyway"}
	}
	return []any{"DoNotSchedule"}
}

func restartArgs(c *conversion, s *subject) map[string]any {
	given := s.params.PodsHavingTooManyRestarts
	if given.PodRestartThreshold < 1 {
		c.invalid(s.from.Child("podsHavingTooManyRestarts", "podRestartThreshold"), given.PodRestartThreshold, "must be 1 or more")
	}
	args := selectorArgs(c, s)
	take(args, within(s.raw, "podsHavingTooManyRestarts"), "podRestartThreshold", "includingInitContainers")
	return args
}

func lifeTimeArgs(c *conversion, s *subject) map[string]any {
	given, raw := s.params.PodLifeTime, within(s.raw, "podLifeTime")
	args := selectorArgs(c, s)
	switch first := s.params.MaxPodLifeTimeSeconds; { // 0.18 and 0.19 had the field here
	case first == nil && given.MaxPodLifeTimeSeconds == nil:
		c.require(s.from.Child("podLifeTime", "maxPodLifeTimeSeconds"), "a number of seconds")
	case first != nil && given.MaxPodLifeTimeSeconds != nil && *first != *given.MaxPodLifeTimeSeconds:
		c.forbid(s.from.Child("maxPodLifeTimeSeconds"), "not together with another podLifeTime.maxPodLifeTimeSeconds, which replaced it")
	}
	take(args, s.raw, "maxPodLifeTimeSeconds")
	take(args, raw, "maxPodLifeTimeSeconds")
	phases, _ := raw["podStatusPhases"].([]any)
	states, _ := raw["states"].([]any)
	if all := append(append([]any{}, phases...), states...); len(all) > 0 {
		args["states"] = all
	}
	if len(phases) > 0 {
		c.out.Add(s.to+".states", "podStatusPhases is written as states")
	}
	return args
}

func failedArgs(c *conversion, s *subject) map[string]any {
	args := selectorArgs(c, s)
	take(args, within(s.raw, "failedPods"), "excludeOwnerKinds", "minPodLifetimeSeconds", "reasons", "includingInitContainers")
	if s.params.FailedPods.MinPodLifetimeSeconds == nil {
		c.out.Add(s.to, "without minPodLifetimeSeconds, pods younger than an hour are left alone; the first versions evicted any, as 0 does")
	}
	return args
}
