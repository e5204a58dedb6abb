package app

import (
	"errors"
	"fmt"
	"net/http"

	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/internal/migration/memory"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// memoryPolicyName stands for the file that a preset does not have.
const memoryPolicyName = "memory preset"

// policyOf reads the policy that the options name, with its text: a file, or a preset, which has none.
func policyOf(options *Options) (*policy.File, []byte, error) {
	if options.Given != nil {
		return options.Given, nil, nil
	}
	if options.Memory == nil {
		file, content, err := readPolicy(options.PolicyFile)
		if err != nil {
			return nil, nil, err
		}
		return file, content, options.Marking.amend(file)
	}
	file, err := memoryPolicy(*options.Memory)
	return file, nil, err
}

// memoryPolicy is the policy that the settings of the memory extender mean.
func memoryPolicy(settings memory.Settings) (*policy.File, error) {
	preset, errs := memory.Preset(settings)
	if len(errs) > 0 {
		return nil, &UsageError{errors.Join(errs.ToAggregate().Errors()...)}
	}
	text, err := yaml.Marshal(preset.Object)
	if err != nil {
		return nil, fmt.Errorf("writing the %s: %w", memoryPolicyName, err)
	}
	file, err := policy.Load(memoryPolicyName, text)
	if err != nil {
		return nil, err
	}
	file.Converted = append(file.Converted, preset)
	return file, nil
}

// answer sets how kube-scheduler is answered, as far as the policy or the preset says it.
func (a *App) answer(config *extender.Config) {
	if measured := a.load.Scoring.Measured; measured != nil {
		config.LoadMessage, config.RejectAll = measured.Message, measured.RejectAll
	}
	config.LogBodies = a.options.LogBodies
	if a.options.Memory == nil {
		return
	}
	// As the memory extender answered: names alone, every node with its score, and pages of its own.
	config.NamesOnly, config.FullReplies = true, true
	config.Pages = map[string]http.Handler{
		"/":        extender.Text("evenkeel extender: POST /filter and /prioritize, GET /healthcheck, /metrics, /nodes and /status\n"),
		"/metrics": a.metricsPage(),
	}
}
