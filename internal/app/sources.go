package app

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/runner"
	"github.com/evenkeel/evenkeel/usage/kinds"
)

// observing returns the policy's settings for observing.
func (s *setup) observing(g *generation) (observer.Config, error) {
	config, err := settings.Observing(g.load, policy.Strategies(g.profiles))
	if err != nil {
		return config, policyfile.Invalid(s.options.PolicyFile, err.Error())
	}
	config.Usage.SignalsOnly = g.signalsOnly
	if s.options.Recording {
		config.Usage.Startup = 0
	}
	selector, err := runner.NodeSelector(g.profiles.NodeSelector)
	if err != nil {
		return config, policyfile.Invalid(s.options.PolicyFile, err.Error())
	}
	config.Taints.Selects = func(of map[string]string) bool { return selector.Matches(labels.Set(of)) }
	config.Reads = settings.SamplesOf(g.load, g.profiles.MetricsProviders, g.signalsOnly)
	config.Sources, err = s.makeSources(g)
	return config, err
}

// makeSources makes the usage sources, in order.
func (s *setup) makeSources(g *generation) ([]observer.Source, error) {
	var sources []observer.Source
	for i, asked := range policyfile.ReadSources(g.file, g.profiles) {
		env := settings.SourceEnv(g.load, &asked, settings.Narrowed{SignalsOnly: g.signalsOnly, MemoryOnly: s.options.MemoryOnly})
		env.REST, env.ReadSecret, env.RequestToken, env.Now = s.kube.REST, s.kube.Secret, s.kube.TokensIn(s.namespace()), s.kube.Clock.Now
		env.WithholdCredentials = s.withholdCredentials
		reader, err := kinds.New(asked.Config, &env)
		if err != nil {
			return nil, exit.Usagef("%s: usage.sources[%d] (%s): %w", s.options.PolicyFile, i, asked.Type, err)
		}
		sources = append(sources, reader)
	}
	return sources, nil
}
