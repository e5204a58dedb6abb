package app

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/runner"
	"github.com/evenkeel/evenkeel/usage"
	"github.com/evenkeel/evenkeel/usage/access"
	"github.com/evenkeel/evenkeel/usage/kinds"
)

// observing returns the policy's settings for observing.
func (s *setup) observing(g *generation) (observer.Config, error) {
	config, err := settings.Observing(g.load, policy.RealUsageArgs(g.profiles))
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
	config.Reads = g.samples()
	config.Sources, err = s.makeSources(g)
	return config, err
}

// makeSources makes the usage sources, in order.
func (s *setup) makeSources(g *generation) ([]observer.Source, error) {
	var sources []observer.Source
	for i, asked := range policyfile.ReadSources(g.file, g.profiles) {
		reader, err := kinds.New(asked.Config, s.sourceEnv(g, &asked))
		if err != nil {
			return nil, exit.Usagef("%s: usage.sources[%d] (%s): %w", s.options.PolicyFile, i, asked.Type, err)
		}
		sources = append(sources, reader)
	}
	return sources, nil
}

// sourceEnv returns what a source needs to read.
func (s *setup) sourceEnv(g *generation, source *policy.Source) *access.Env {
	u := &g.load.Usage
	env := access.Env{
		REST: s.kube.REST, ReadSecret: s.kube.Secret, Now: s.kube.Clock.Now, WithholdCredentials: s.withholdCredentials,
		RequestToken: s.kube.TokensIn(s.namespace()),
		Timeout:      u.TimeoutOf(source), MaxAge: u.MaxAgeOf(source), Interval: u.SampleInterval.Duration, QueriesPerSecond: u.QueriesPerSecond,
		NodesOnly: s.options.MemoryOnly || g.signalsOnly, EveryNode: g.signalsOnly,
	}
	if !g.signalsOnly { // five-minute means are always needed
		env.Windows, env.Metrics = []usage.Window{usage.Avg5m}, []usage.Metric{usage.CPU, usage.Memory}
	}
	for _, w := range settings.Windows(g.load) {
		if !slices.Contains(env.Windows, w) {
			env.Windows = append(env.Windows, w)
		}
	}
	if env.Metrics = append(env.Metrics, settings.Signals(g.load)...); s.options.MemoryOnly {
		env.Metrics = []usage.Metric{usage.Memory} // nothing else is used, and the names of others need not exist
	}
	return &env
}
