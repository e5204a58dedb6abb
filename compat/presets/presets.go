// Package presets turns the settings of legacy systems that had no policy file into a
// LoadPolicy.
//
// It defines only the policy. Other packages read the settings (flags, environment,
// plugin args) and answer over HTTP. Invariant: whatever Preset returns without an error
// is a LoadPolicy that package policy accepts.
package presets

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
)

// Load returns a preset as a policy file with the given name, and its text.
func Load(name string, preset policy.Conversion, kinds source.Kinds) (*policy.File, string, error) {
	text, err := yaml.Marshal(preset.Object)
	if err != nil {
		return nil, "", fmt.Errorf("writing the policy: %w", err)
	}
	file, err := policy.Load(name, text, kinds)
	if err != nil {
		return nil, "", err
	}
	file.Converted, file.DefaultProfile = append(file.Converted, preset), false // these systems did not evict
	return file, string(text), nil
}

// prometheus returns a source that reads one metric of nodes with a query.
func prometheus(address, nodeLabel, metric string, query map[string]any) []any {
	return []any{map[string]any{
		"type": "Prometheus",
		"prometheus": map[string]any{
			"address":   address,
			"nodeLabel": nodeLabel,
			"queries":   map[string]any{"nodes": map[string]any{metric: query}},
		},
	}}
}
