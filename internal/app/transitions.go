package app

import (
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/slim"
)

// slimmer makes pods small. Since when their conditions are as they are is kept only where the policy that the process begins
// with goes by it: it would be a tenth of what a pod takes.
func (a *App) slimmer() *slim.Slimmer {
	a.transitions = policyfile.ReadsTransitions(a.profiles)
	if a.transitions {
		return slim.New()
	}
	return slim.New().WithoutTransitions()
}

// checkTransitions refuses a policy for which pods would have to be read again: PodLifeTime would take none of those known.
func (a *App) checkTransitions() error {
	if a.transitions || !policyfile.ReadsTransitions(a.profiles) {
		return nil
	}
	return policyfile.Invalid(a.options.PolicyFile,
		"PodLifeTime: conditions: minTimeSinceLastTransitionSeconds was not in the policy that this process began with, and so it did "+
			"not keep the times that this goes by; it takes effect with a restart")
}
