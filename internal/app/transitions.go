package app

import (
	"slices"

	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/podlifetime"

	"github.com/evenkeel/evenkeel/internal/slim"
	"github.com/evenkeel/evenkeel/policy"
)

// slimmer makes pods small. Since when their conditions are as they are is kept only where the policy that the process begins
// with goes by it: it would be a tenth of what a pod takes.
func (a *App) slimmer() *slim.Slimmer {
	a.transitions = readsTransitions(a.profiles)
	if a.transitions {
		return slim.New()
	}
	return slim.New().WithoutTransitions()
}

// readsTransitions says whether PodLifeTime is told to go by the time since a condition of a pod changed; no other plugin can be.
func readsTransitions(p *api.DeschedulerPolicy) bool {
	for _, profile := range p.Profiles {
		for _, config := range profile.PluginConfigs {
			args, ok := config.Args.(*podlifetime.PodLifeTimeArgs)
			if ok && slices.ContainsFunc(args.Conditions, func(f podlifetime.PodConditionFilter) bool {
				return f.MinTimeSinceLastTransitionSeconds != nil
			}) {
				return true
			}
		}
	}
	return false
}

// checkTransitions refuses a policy for which pods would have to be read again: PodLifeTime would take none of those known.
func (a *App) checkTransitions() error {
	if a.transitions || !readsTransitions(a.profiles) {
		return nil
	}
	return &policy.Error{File: a.options.PolicyFile, Problems: []string{
		"PodLifeTime: conditions: minTimeSinceLastTransitionSeconds was not in the policy that this process began with, and so it did " +
			"not keep the times that this goes by; it takes effect with a restart",
	}}
}
